package workload

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/health"

	"rpclab/internal/process/netcut"
	"rpclab/internal/security"
)

// Models of a [Server].
const (
	GRPC = "grpc"
	REST = "rest" // JSON over HTTP/1.1 and cleartext HTTP/2
	TCP  = "tcp"  // bare connections; only the workload increase
)

// Models lists every model.
var Models = []string{GRPC, REST, TCP}

// Server is one backend: the Go server under test, with health and reflection.
type Server struct {
	ID    string        // identity in every response
	Model string        // one of [Models]; empty: the first
	Delay time.Duration // before every response of greet and orders
	// Spread is the largest random addition to Delay for an order.
	Spread time.Duration
	// Workers is how many calls run at once while others queue; 0: no limit.
	Workers int
	Drain   time.Duration // how long the server accepts calls after SIGTERM
	// MaxAge is the age, ±10 %, at which a connection receives GOAWAY, and AgeGrace how long
	// its calls may continue (gRFC A9); 0: no limit.
	MaxAge, AgeGrace time.Duration
	Metrics          net.Listener // serves metrics to Prometheus; nil: no metrics
	ReportLoad       bool         // by ORCA, in every response
	Published        bool         // serves the published studies' own packages, paths and messages too
	API              string       // one of [APIs], the version of Chain; empty: V1
	Token            string       // that every call, request and scrape needs, except health checks; empty: none
	// Security yields the calculator's policy and keys, once; nil: none.
	Security <-chan security.Config
	Log      *slog.Logger
	// Ready serves readiness checks over HTTP, and makes it possible to reset connections and to drop the packets of
	// clients; nil: neither.
	Ready net.Listener

	once        sync.Once
	workerSlots chan struct{} // limits calls to Workers; nil: no limit
	health      *health.Server
	fault       atomic.Pointer[Fault]
	flapper     healthFlapper
	begun       atomic.Uint64 // calls begun
	listener    atomic.Pointer[netcut.Listener]
}

// setUp initializes the server at its first use.
func (s *Server) setUp() {
	s.once.Do(func() {
		s.health = health.NewServer()
		if s.Workers > 0 {
			s.workerSlots = make(chan struct{}, s.Workers)
		}
		s.fault.Store(&Fault{})
	})
}
