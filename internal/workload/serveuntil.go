package workload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/process/netcut"
)

// serveUntil serves until ctx ends. It then drains and calls stop, which makes serve return nil.
func (s *Server) serveUntil(ctx context.Context, listener net.Listener, serve func(net.Listener) error, stop func() error) error {
	if s.Ready != nil {
		defer s.serveReadiness()()
		listener = s.cuttable(listener.(*net.TCPListener))
	}
	failed := make(chan error, 1)
	go func() { failed <- serve(listener) }()
	s.Log.Info("serving", "id", s.ID, "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.drain()
	if cut := s.listener.Load(); cut != nil {
		defer cut.EndStuck()()
	}
	err := stop()
	return errors.Join(err, <-failed)
}

// drain reports NOT_SERVING and returns after Drain.
func (s *Server) drain() {
	s.health.Shutdown()
	s.Log.Info("draining", "id", s.ID, "for", s.Drain.String())
	time.Sleep(s.Drain)
}

// answerHealth answers 200 if the server's health is SERVING, else 503.
func (s *Server) answerHealth(w http.ResponseWriter, r *http.Request) {
	answer, err := s.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || answer.Status != healthv1.HealthCheckResponse_SERVING {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, answer.GetStatus())
}

// serveReadiness answers on Ready, which no command cuts, until the returned function is called.
func (s *Server) serveReadiness() (end func()) {
	server := &http.Server{Handler: http.HandlerFunc(s.answerHealth), ReadHeaderTimeout: time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(s.Ready) })
	return func() {
		_ = server.Close()
		serving.Wait()
	}
}

// cuttable returns a listener whose connections commands can cut, in place of one.
func (s *Server) cuttable(listener *net.TCPListener) net.Listener {
	cut := netcut.New(listener)
	s.listener.Store(cut)
	s.dropPackets()
	return cut
}

// dropPackets drops the packets of clients, or lets them pass, as the present fault says.
func (s *Server) dropPackets() {
	if listener := s.listener.Load(); listener != nil {
		if err := listener.Drop(s.fault.Load().Drop); err != nil {
			s.Log.Error("cannot drop packets", "error", err)
		}
	}
}

// resetConnections resets the connections of clients.
func (s *Server) resetConnections() {
	if listener := s.listener.Load(); listener != nil {
		listener.Reset()
	}
}
