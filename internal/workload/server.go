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
	_ "google.golang.org/grpc/encoding/gzip" // answers are compressed where requests are
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/security"
)

// The models of a [Server].
const (
	GRPC = "grpc"
	REST = "rest" // JSON over HTTP/1.1 and HTTP/2 in clear text
	TCP  = "tcp"  // bare connections: increase, and nothing else
)

// Models are all of them.
var Models = []string{GRPC, REST, TCP}

// Server is one backend: the Go server under test, with health and reflection.
type Server struct {
	ID    string        // the identity that every answer carries
	Model string        // how it is built, one of [Models]; empty: the first
	Delay time.Duration // before every answer
	// Spread is up to how much longer it waits before it takes an order, drawn anew for each.
	Spread time.Duration
	// Workers is how many calls it works on at once, while others queue; 0: all.
	Workers int
	Drain   time.Duration // how long it still accepts calls once it is told to stop
	// MaxAge is after how long a connection is told to go, some 10 % more or less, and
	// AgeGrace how long its calls may go on then (gRFC A9); 0: for ever.
	MaxAge, AgeGrace time.Duration
	Metrics          net.Listener // where Prometheus is answered; nil: nowhere
	ReportLoad       bool         // by ORCA, in every answer
	// Secure yields what the calculator asks of its clients, and its keys, once; nil: nothing.
	Secure <-chan security.Party
	Log    *slog.Logger

	setUp  sync.Once
	room   chan struct{} // for the calls that are worked on; nil: for all
	health *health.Server
	ails   atomic.Pointer[Ailment]
	flaps  flapping
	served atomic.Uint64 // calls begun
}

// ready makes what the first use needs.
func (s *Server) ready() {
	s.setUp.Do(func() {
		s.health = health.NewServer()
		if s.Workers > 0 {
			s.room = make(chan struct{}, s.Workers)
		}
		s.ails.Store(&Ailment{})
	})
}

// Serve answers until ctx ends. Then it says NOT_SERVING, accepts calls for Drain
// more, tells clients to go (GOAWAY), and returns when the last call is answered.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	s.ready()
	defer s.flaps.end()
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
	options, end := s.observed(refusals(guard)...)
	defer end()
	if s.ReportLoad {
		options = append(options, reportLoad()...) // around all that follows
	}
	leaving := make(chan struct{})
	options = append(options, secured(guard)...)
	server := grpc.NewServer(append(options, grpc.ChainUnaryInterceptor(s.answer), grpc.ChainStreamInterceptor(s.answerStream),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: s.MaxAge, MaxConnectionAgeGrace: s.AgeGrace}))...)
	rpclabv1.RegisterGreeterServer(server, greeter{id: s.ID, delay: s.Delay})
	rpclabv1.RegisterFibonacciServer(server, fibonacci{id: s.ID})
	rpclabv1.RegisterCounterServer(server, &counter{id: s.ID})
	rpclabv1.RegisterChainServer(server, chain{})
	rpclabv1.RegisterCalculatorServiceServer(server, &calculator{guard: guard, leaving: leaving, begin: s.begin})
	rpclabv1.RegisterOrderServiceServer(server, orders{delay: s.Delay, spread: s.Spread})
	healthv1.RegisterHealthServer(server, s.health)
	reflection.Register(server)

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.Log.Info("serving", "id", s.ID, "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.drain()
	close(leaving)
	server.GracefulStop()
	return <-failed
}

// drain says NOT_SERVING and returns when no further call needs to be accepted.
func (s *Server) drain() {
	s.health.Shutdown()
	s.Log.Info("draining", "id", s.ID, "for", s.Drain.String())
	time.Sleep(s.Drain)
}
