package load

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"rpclab/internal/service/data"
	"rpclab/internal/wire"
)

// Probe describes the load of a self-test.
type Probe struct {
	Engine      string        // [Wire] or [GRPCGo]
	HTTP        int           // version of REST calls; 0: gRPC
	TLS         bool          // the connections are encrypted
	Cores       int           // threads of the engine wire; 0: 1
	Connections int           // 0: one, or on demand for HTTP/1.1
	Request     int           // bytes of a message
	Reply       int           // bytes of a response
	Duration    time.Duration // of each of the three measurements, in all their parts
	Self        []string      `json:"-"` // command line of rpclab, which also runs the server
	// Unlike says how the self-test would differ from the load, whose limits it then does not measure; empty: it
	// would not.
	Unlike string

	security *tls.Config // with which the client trusts the server; nil: clear text
}

const (
	// ceilingUsers is the number of users that saturates one thread of the generator with small messages.
	ceilingUsers = 64
	// maxBytesInFlight limits the users with large messages, of which fewer saturate the generator.
	maxBytesInFlight = 16 << 20
)

// users returns the users of the ceiling measurement.
func (p Probe) users() int {
	users := min(max(maxBytesInFlight/max(p.Request+p.Reply, 1), 2, p.Cores), ceilingUsers*max(p.Cores, 1))
	if p.HTTP == 1 && p.Connections > 0 { // each carries one call at a time
		return min(users, p.Connections)
	}
	return users
}

// connections returns how many connections the calls share: those of the load, at most one for each user.
func (p Probe) connections() int { return min(max(p.Connections, 1), p.users()) }

// onDemand reports whether calls open connections when none is free.
func (p Probe) onDemand() bool { return p.HTTP == 1 && p.Connections == 0 }

// threads returns how many processors the generator can use. A connection with TLS has goroutines of its own.
func (p Probe) threads() int {
	if p.Engine == Wire && !p.TLS {
		return max(p.Cores, 1)
	}
	return runtime.GOMAXPROCS(0)
}

func openProbe(ctx context.Context, probe Probe, address string, dial dialer) (Client, error) {
	to := target{name: address, authority: address, addresses: []string{address}}
	const path = "/rpclab.v1.Greeter/SayHello"
	messages := data.Binary(make([]byte, probe.Request))
	if probe.Engine == GRPCGo {
		client, err := openGRPC(ctx, to, probe.connections(), probe.security, ResponseLimits{MaxMessage: maxLimit}, dial)
		if err != nil {
			return nil, err
		}
		client.path, client.timeout, client.messages = path, connectTimeout, messages
		return client, nil
	}
	config := wireConfig{
		target: to, connections: probe.connections(), cores: max(probe.Cores, 1), security: withServerName(probe.security, address), timeout: connectTimeout,
		path: path, messages: messages, dial: dial, limits: ResponseLimits{MaxMessage: maxLimit},
	}
	if probe.HTTP > 0 {
		config.http = &wire.HTTP{Method: http.MethodPost, Path: "/", Version: probe.HTTP}
	}
	if probe.onDemand() {
		config.connections, config.onDemand = probe.users(), true
	}
	client, err := openWire(ctx, config)
	if err != nil {
		return nil, err // not client, which would be a non-nil interface
	}
	return client, nil
}

// byteCounter counts the bytes of the connections that it opens.
type byteCounter struct{ sent, got atomic.Int64 }

func (t *byteCounter) dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return countedConn{connection, t}, nil
}

type countedConn struct {
	net.Conn
	traffic *byteCounter
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.got.Add(int64(n))
	return n, err
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(int64(n))
	return n, err
}
