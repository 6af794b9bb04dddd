package main

import (
	"fmt"
	"time"

	"rpclab/internal/process"
)

// servers are the servers that the generators call, each in its own process.
type servers struct {
	answerer, health, greeter, plain, web string          // addresses
	slow                                  map[bool]string // that wait; true: the one for REST
	processes                             map[string]*process.Process
}

// agreeDelay is how long the servers wait that all generators should agree on.
const agreeDelay = 10 * time.Millisecond

func start(t tools) (*servers, error) {
	s := &servers{processes: map[string]*process.Process{}}
	const host = "127.0.0.1"
	var slow, slowREST string
	for _, server := range []struct {
		addr *string
		args []string
	}{
		{&s.answerer, []string{t.answerer, "-listen"}},
		{&s.health, []string{t.answerer, "-reply", "health", "-listen"}},
		{&s.greeter, []string{t.rpclab, "server", "--listen"}},
		{&s.plain, []string{t.answerer, "-reply", "http", "-listen"}},
		{&s.web, []string{t.webserver, "-listen"}},
		{&slow, []string{t.rpclab, "server", "--delay", agreeDelay.String(), "--listen"}},
		{&slowREST, []string{t.rpclab, "server", "--model", "rest", "--delay", agreeDelay.String(), "--listen"}},
	} {
		port, err := freePort(host)
		if err != nil {
			return nil, err
		}
		*server.addr = fmt.Sprintf("%s:%d", host, port)
		p, err := process.Start(process.Spec{Args: append(server.args, *server.addr)})
		if err != nil {
			s.stop()
			return nil, err
		}
		s.processes[*server.addr] = p
		if err := awaitServer(*server.addr, p); err != nil {
			s.stop()
			return nil, err
		}
	}
	s.slow = map[bool]string{false: slow, true: slowREST}
	return s, nil
}

// greeterProcess is the process of the grpc-go server.
func (s *servers) greeterProcess() *process.Process { return s.at(s.greeter) }

// at is the process that listens on an address.
func (s *servers) at(addr string) *process.Process { return s.processes[addr] }

func (s *servers) stop() {
	for _, p := range s.processes {
		p.Kill()
	}
}
