package process

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// acceptPause is the pause after accept fails, for example for want of file descriptors.
const acceptPause = 5 * time.Millisecond

// ServeTCP handles every connection that the accept method of a listener returns. It closes listener when ctx ends, and
// returns when listener is closed and all connections are handled.
func ServeTCP[C net.Conn](ctx context.Context, listener io.Closer, accept func() (C, error), handle func(C)) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := accept()
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
