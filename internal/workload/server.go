package workload

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Server is one backend: the Go server under test, with health and reflection.
type Server struct {
	ID    string        // the identity that every answer carries
	Delay time.Duration // before every answer
	// Workers is how many calls wait for their delay at once, while others queue; 0: all.
	Workers int
	Drain   time.Duration // how long it still accepts calls once it is told to stop
	Log     *slog.Logger

	slow atomic.Int64 // nanoseconds added to every answer
}

// Slow adds by to every answer from now on; 0 ends that.
func (s *Server) Slow(by time.Duration) { s.slow.Store(int64(by)) }

// Serve answers until ctx ends. Then it says NOT_SERVING, accepts calls for Drain
// more, tells clients to go (GOAWAY), and returns when the last call is answered.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(s.identify))
	g := greeter{id: s.ID, delay: s.Delay}
	if s.Workers > 0 {
		g.room = make(chan struct{}, s.Workers)
	}
	rpclabv1.RegisterGreeterServer(server, g)
	rpclabv1.RegisterFibonacciServer(server, fibonacci{id: s.ID})
	rpclabv1.RegisterCounterServer(server, &counter{id: s.ID})
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(server, healthy)
	reflection.Register(server)

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.Log.Info("serving", "id", s.ID, "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	healthy.Shutdown()
	s.Log.Info("draining", "id", s.ID, "for", s.Drain.String())
	time.Sleep(s.Drain)
	server.GracefulStop()
	return <-failed
}

// identify puts the identity into the trailer of every answer and makes slow ones slow.
func (s *Server) identify(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := grpc.SetTrailer(ctx, metadata.Pairs(Trailer, s.ID)); err != nil {
		return nil, err
	}
	if info.FullMethod != healthv1.Health_Check_FullMethodName {
		if err := wait(ctx, time.Duration(s.slow.Load())); err != nil {
			return nil, err
		}
	}
	return next(ctx, request)
}

// wait returns after d, or with the status of a call that was given up before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
