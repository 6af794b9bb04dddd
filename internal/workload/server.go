package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // answers are compressed when requests are
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
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
	ID    string        // identity in every answer
	Model string        // one of [Models]; empty: the first
	Delay time.Duration // before every answer of greet and orders
	// Spread is the largest random addition to Delay for an order.
	Spread time.Duration
	// Workers is how many calls run at once while others queue; 0: no limit.
	Workers int
	Drain   time.Duration // how long the server accepts calls after it is told to stop
	// MaxAge is the age, ±10 %, at which a connection receives GOAWAY, and AgeGrace how long
	// its calls may continue (gRFC A9); 0: no limit.
	MaxAge, AgeGrace time.Duration
	Metrics          net.Listener // serves metrics to Prometheus; nil: no metrics
	ReportLoad       bool         // by ORCA, in every answer
	// Security yields the calculator's policy and keys, once; nil: none.
	Security <-chan security.Config
	Log      *slog.Logger

	once        sync.Once
	workerSlots chan struct{} // limits calls to Workers; nil: no limit
	health      *health.Server
	fault       atomic.Pointer[Fault]
	flapper     healthFlapper
	begun       atomic.Uint64 // calls begun
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

// Serve answers calls until ctx ends. It then reports NOT_SERVING, accepts calls for Drain, sends
// GOAWAY, and returns when the last call has ended.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	s.setUp()
	defer s.flapper.end()
	switch s.Model {
	case REST:
		return s.serveREST(ctx, listener)
	case TCP:
		return s.serveTCP(ctx, listener)
	}
	guard, err := s.newGuard(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	options, end := s.metricsOptions(rejectionCollectors(guard)...)
	defer end()
	if s.ReportLoad {
		options = append(options, reportLoad()...) // outermost interceptor
	}
	stopping := make(chan struct{})
	options = append(options, securityOptions(guard)...)
	server := grpc.NewServer(append(options, grpc.ChainUnaryInterceptor(s.intercept), grpc.ChainStreamInterceptor(s.interceptStream),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: s.MaxAge, MaxConnectionAgeGrace: s.AgeGrace}))...)
	rpclabv1.RegisterGreeterServer(server, greeter{id: s.ID, delay: s.Delay})
	rpclabv1.RegisterFibonacciServer(server, fibonacci{id: s.ID})
	rpclabv1.RegisterCounterServer(server, &counter{id: s.ID})
	rpclabv1.RegisterChainServer(server, chain{})
	rpclabv1.RegisterCalculatorServiceServer(server, &calculator{guard: guard, stopping: stopping, begin: s.beginCall})
	rpclabv1.RegisterOrderServiceServer(server, orders{delay: s.Delay, spread: s.Spread})
	healthv1.RegisterHealthServer(server, s.health)
	reflection.Register(server)

	return s.serveUntil(ctx, listener, server.Serve, func() error {
		close(stopping)
		server.GracefulStop()
		return nil
	})
}

// serveUntil serves until ctx ends. It then drains and calls stop, which makes serve return nil.
func (s *Server) serveUntil(ctx context.Context, listener net.Listener, serve func(net.Listener) error, stop func() error) error {
	failed := make(chan error, 1)
	go func() { failed <- serve(listener) }()
	s.Log.Info("serving", "id", s.ID, "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.drain()
	err := stop()
	return errors.Join(err, <-failed)
}

// drain reports NOT_SERVING and returns after Drain.
func (s *Server) drain() {
	s.health.Shutdown()
	s.Log.Info("draining", "id", s.ID, "for", s.Drain.String())
	time.Sleep(s.Drain)
}
