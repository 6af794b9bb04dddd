package workload

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/process/netcut"
)

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
