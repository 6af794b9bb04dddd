package wiretest

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// Serve runs the server of a scenario on loopback until the test ends and returns its address. A
// protocol error of the client fails the test.
func Serve(t testing.TB, s Scenario) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	server := server{t: t, scenario: s, open: map[net.Conn]bool{}}
	server.running.Go(func() { server.accept(listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		server.close()
		server.running.Wait()
	})
	return listener.Addr().String()
}

type server struct {
	t        testing.TB
	scenario Scenario
	running  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

func (s *server) accept(listener net.Listener) {
	for number := 1; ; number++ {
		conn, err := listener.Accept()
		if err != nil || !s.keep(conn) {
			return
		}
		s.running.Go(func() {
			defer s.drop(conn)
			p := newServerConn(&s.scenario, conn, number)
			var violation violation
			if err := p.serve(); errors.As(err, &violation) {
				s.t.Errorf("%s, connection %d: the client broke the protocol: %v", s.scenario.Name, number, err)
			}
		})
	}
}

func (s *server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	s.open[conn] = true
	return true
}

func (s *server) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	_ = conn.Close()
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.open {
		_ = conn.Close()
	}
}
