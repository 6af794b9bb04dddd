// Package forward forwards each TCP connection to a random ready backend of a service, as
// kube-proxy does on a node. It serves callers in other languages, which cannot use a Go dialer,
// and it knows nothing of the protocol on the connections.
package forward

import (
	"context"
	"net"
	"sync"

	"rpclab/internal/process"
	"rpclab/internal/route/endpointslice"
)

// Serve forwards every connection that listener accepts to a random usable endpoint of the
// watcher. The connection stays with that endpoint when the endpoints change, as with connection
// tracking. Without an endpoint Serve resets the connection, the closest that is possible after
// accept(2) to kube-proxy's REJECT. Serve returns after ctx has ended, when the listener and all
// connections are closed.
func Serve(ctx context.Context, listener *net.TCPListener, watcher *endpointslice.Watcher) {
	process.ServeTCP(ctx, listener, listener.AcceptTCP, func(client *net.TCPConn) { forward(ctx, client, watcher) })
}

func forward(ctx context.Context, client *net.TCPConn, watcher *endpointslice.Watcher) {
	state, _ := watcher.Current()
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

// join copies bytes in both directions until both have ended. When one side closes its
// direction, the other may still send. When one side fails, join resets both.
func join(a, b *net.TCPConn) {
	pass := func(to, from *net.TCPConn) {
		_, err := to.ReadFrom(from) // by splice(2) where the system has it
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
