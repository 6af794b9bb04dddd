package wire_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

func TestConnectionsAreOpenedAtTheConnectRate(t *testing.T) {
	addr := answerer(t)
	e := engine(t, wire.Config{Addresses: []string{addr}, Channels: 20, ConnectRate: 100}, wire.Call{Method: "/test.Test/Answer"})
	start := time.Now()
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 150*time.Millisecond {
		t.Errorf("20 connections at 100/s were open after %v", took)
	}
}

// peers counts the connections of a listener by their source address.
type peers struct {
	net.Listener
	mu   sync.Mutex
	from map[string]int
}

func (p *peers) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err == nil {
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		p.mu.Lock()
		p.from[host]++
		p.mu.Unlock()
	}
	return conn, err
}

func TestConnectionsUseTheSourceAddressesInTurn(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems have one loopback address
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &peers{Listener: inner, from: map[string]int{}}
	serve(t, listener, "b1", 0)
	e := engine(t, wire.Config{
		Addresses: []string{inner.Addr().String()}, Channels: 6,
		Sources: []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")},
	}, greet(t))
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := load(t, e, pace.Burst{Calls: 60}); m.Backends["b1"] != 60 {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.from["127.0.0.2"] != 3 || listener.from["127.0.0.3"] != 3 {
		t.Errorf("connections came from %v", listener.from)
	}
}

func TestThousandsOfConnectionsCarryCalls(t *testing.T) {
	addr := answerer(t)
	const connections = 2000
	e := engine(t, wire.Config{Addresses: []string{addr}, Channels: connections}, wire.Call{Method: "/test.Test/Answer"})
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, opened := loadAndConnections(t, e, pace.Closed{Users: connections, Calls: 3 * connections})
	if m.Backends[""] != 3*connections || opened != connections {
		t.Errorf("%d calls, %d connections, %v %v", m.Calls, opened, m.Errors, m.Samples)
	}
}

func TestErrorsOfExhaustedPortsAndFilesContainARemedy(t *testing.T) {
	for want, err := range map[string]error{
		"no local port is left":     os.NewSyscallError("connect", syscall.EADDRNOTAVAIL),
		"rpclab load --source":      &net.OpError{Op: "dial", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)},
		"ulimit -n":                 os.NewSyscallError("socket", syscall.EMFILE),
		"assign requested address)": fmt.Errorf("(from 192.0.2.1: %w)", os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)),
	} {
		e := engine(t, wire.Config{
			Addresses: []string{"192.0.2.7:1"},
			Dial:      func(context.Context, string) (net.Conn, error) { return nil, err },
		}, greet(t))
		m := load(t, e, pace.Burst{Calls: 1})
		if why := m.Samples["UNAVAILABLE"]; !strings.Contains(why, want) || !strings.Contains(why, err.Error()) {
			t.Errorf("%v: the error is %q, without %q", err, why, want)
		}
	}
}
