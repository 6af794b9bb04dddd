package grpcgo_test

import (
	"context"
	"net"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/pace"
)

// A load reports the time of the connections that it opened, and not that of earlier ones.
func TestTheTimeOfConnecting(t *testing.T) {
	const calls, slow = 5, 20 * time.Millisecond
	target := serveSlowly(t)
	target.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		<-time.After(slow)
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	for _, c := range []struct {
		mode       string
		connecting int // connections in the second load
	}{{caller.PerCall, calls}, {caller.Shared, 0}} {
		session := callertest.Open(t, grpcgo.Caller{}, job(caller.Channels{Mode: c.mode}), target)
		callertest.Load(t, session, pace.Sequence(1))
		m := callertest.Load(t, session, pace.Sequence(calls))
		least := time.Duration(c.connecting) * slow
		if m.Connecting == nil || *m.Connecting < least || c.connecting == 0 && *m.Connecting > 0 || *m.Connecting > m.Elapsed {
			t.Errorf("%s: %v for %d connections in %v, want at least %v", c.mode, m.Connecting, c.connecting, m.Elapsed, least)
		}
	}
}
