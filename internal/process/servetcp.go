package process

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// acceptPause is the pause after accept fails, for example for want of file descriptors.
const acceptPause = 5 * time.Millisecond

// ServeTCP handles every connection that listener accepts. It closes listener when ctx ends, and returns when listener
// is closed and all connections are handled.
func ServeTCP(ctx context.Context, listener *net.TCPListener, handle func(*net.TCPConn)) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.AcceptTCP()
		switch {
		case err == nil:
			connections.Go(func() { handle(conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}
