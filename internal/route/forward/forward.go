// Package forward takes TCP connections to the backends of a service, each to a random
// one that is ready: what a node's packet filter does, for callers that cannot dial by
// themselves. It knows nothing of what is said on them.
package forward

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"rpclab/internal/route/endpointslice"
)

// retry is how long to wait when a connection cannot be accepted, as without a free file.
const retry = 5 * time.Millisecond

// Serve forwards every connection that listener accepts to a random usable endpoint of
// the table. It stays there, whatever becomes of the table, as connection tracking has
// it; without an endpoint it is reset, as near as one gets to kube-proxy's REJECT after
// accept(2). Serve returns when ctx has ended and with it the listener and every connection.
func Serve(ctx context.Context, listener *net.TCPListener, table *endpointslice.Watcher) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		client, err := listener.AcceptTCP()
		switch {
		case err == nil:
			connections.Go(func() { forward(ctx, client, table) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(retry)
		}
	}
}

func forward(ctx context.Context, client *net.TCPConn, table *endpointslice.Watcher) {
	state, _ := table.Current()
	to, ok := state.Usable.Random()
	if !ok {
		reset(client)
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.Addr.String())
	if err != nil {
		reset(client)
		return
	}
	backend := conn.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() {
		reset(client)
		reset(backend)
	})
	defer stop()
	join(client, backend)
}

// join passes bytes both ways until both have ended. An end of one side's bytes is passed
// on as such, so that the other side may go on; a side that breaks off is a reset of both.
func join(a, b *net.TCPConn) {
	pass := func(to, from *net.TCPConn) {
		_, err := to.ReadFrom(from) // by splice(2) where there is that
		if err == nil {
			err = to.CloseWrite()
		}
		if err != nil {
			reset(a)
			reset(b)
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pass(a, b) })
	pass(b, a)
	both.Wait()
	_ = a.Close()
	_ = b.Close()
}

// reset ends a connection with RST instead of FIN.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
