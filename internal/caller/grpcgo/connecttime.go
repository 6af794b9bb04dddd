package grpcgo

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
)

// connectTime adds up how long the channels of a session take to set up connections: TCP and, where the server
// has it, TLS. The exchange of HTTP/2 settings is not part of it.
type connectTime struct{ took atomic.Int64 }

// through returns a target whose connections are measured.
func (c *connectTime) through(target caller.Target) caller.Target {
	dial := target.Dial
	if dial == nil {
		dial = dialTCP
	}
	target.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		defer c.add(time.Now())
		return dial(ctx, address)
	}
	return target
}

// dialTCP connects as grpc-go does without a dialer of the application: it turns keepalive of TCP on, with the
// times of the system. The address may be one of a Unix socket.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: -1, Interval: -1, Count: -1}}
	if path, unix := strings.CutPrefix(address, "unix://"); unix {
		return dialer.DialContext(ctx, "unix", path)
	}
	return dialer.DialContext(ctx, "tcp", address)
}

func (c *connectTime) add(began time.Time) { c.took.Add(int64(time.Since(began))) }

// ofLoad returns a function that tells the recorder of a load how much was added since now.
func (c *connectTime) ofLoad() (end func(*measure.Recorder)) {
	before := c.took.Load()
	return func(r *measure.Recorder) { r.SetConnecting(time.Duration(c.took.Load() - before)) }
}

// timedCredentials measure the handshakes of clients.
type timedCredentials struct {
	credentials.TransportCredentials
	time *connectTime
}

// ClientHandshake implements [credentials.TransportCredentials].
func (t timedCredentials) ClientHandshake(ctx context.Context, authority string, connection net.Conn) (net.Conn, credentials.AuthInfo, error) {
	defer t.time.add(time.Now())
	return t.TransportCredentials.ClientHandshake(ctx, authority, connection)
}

// Clone implements [credentials.TransportCredentials].
func (t timedCredentials) Clone() credentials.TransportCredentials {
	return timedCredentials{t.TransportCredentials.Clone(), t.time}
}
