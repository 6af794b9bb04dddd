package load

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"rpclab/internal/service/data"
	"rpclab/internal/wire"
)

// Probe describes the load of a self-test.
type Probe struct {
	Engine   string        // [Wire] or [GRPCGo]
	HTTP     int           // version of REST calls; 0: gRPC
	Request  int           // bytes of a message
	Reply    int           // bytes of a response
	Duration time.Duration // of each of the three measurements, in all their parts
	Self     []string      `json:"-"` // command line of rpclab, which also runs the server
}

const (
	// ceilingUsers is the number of users that saturates the generator with small messages.
	ceilingUsers = 64
	// maxBytesInFlight limits the users with large messages, of which fewer saturate the generator.
	maxBytesInFlight = 16 << 20
)

// users returns the users of the ceiling measurement.
func (p Probe) users() int {
	return min(max(maxBytesInFlight/max(p.Request+p.Reply, 1), 2), ceilingUsers)
}

func openProbe(ctx context.Context, probe Probe, address string, dial dialer) (Client, error) {
	to := target{name: address, authority: address, addresses: []string{address}}
	const path = "/rpclab.v1.Greeter/SayHello"
	messages := data.Binary(make([]byte, probe.Request))
	if probe.Engine == GRPCGo {
		client, err := openGRPC(ctx, to, 1, nil, ResponseLimits{MaxMessage: maxLimit}, dial)
		if err != nil {
			return nil, err
		}
		client.path, client.timeout, client.messages = path, connectTimeout, messages
		return client, nil
	}
	config := wireConfig{
		target: to, connections: 1, cores: 1, timeout: connectTimeout, path: path, messages: messages, dial: dial, limits: ResponseLimits{MaxMessage: maxLimit},
	}
	if probe.HTTP > 0 {
		config.http = &wire.HTTP{Method: http.MethodPost, Path: "/", Version: probe.HTTP}
	}
	if probe.HTTP == 1 {
		config.connections, config.onDemand = ceilingUsers, true
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
