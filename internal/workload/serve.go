package workload

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // answers are compressed when requests are
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

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
	options = append(s.tokenOptions(), options...)
	if s.ReportLoad {
		options = append(options, reportLoad()...) // outermost interceptor
	}
	stopping := make(chan struct{})
	options = append(options, securityOptions(guard)...)
	server := grpc.NewServer(append(options, grpc.ChainUnaryInterceptor(s.intercept), grpc.ChainStreamInterceptor(s.interceptStream),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: s.MaxAge, MaxConnectionAgeGrace: s.AgeGrace}))...)
	rpclabv1.RegisterGreeterServer(server, greeter{id: s.ID, delay: s.Delay})
	rpclabv1.RegisterFibonacciServer(server, fibonacci{id: s.ID})
	count := &counter{id: s.ID}
	rpclabv1.RegisterCounterServer(server, count)
	if err := s.registerChain(server); err != nil {
		return errors.Join(err, listener.Close())
	}
	rpclabv1.RegisterCalculatorServiceServer(server, &calculator{guard: guard, stopping: stopping, begin: s.beginCall})
	if s.Published {
		s.registerPublished(server, count, &calculator{guard: guard, stopping: stopping, begin: s.beginCall, published: true})
	}
	rpclabv1.RegisterOrderServiceServer(server, orders{delay: s.Delay, spread: s.Spread})
	healthv1.RegisterHealthServer(server, s.health)
	reflection.Register(server)

	return s.serveUntil(ctx, listener, server.Serve, func() error {
		close(stopping)
		server.GracefulStop()
		return nil
	})
}
