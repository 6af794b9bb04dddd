//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// forward forwards connections from a loopback port of this machine to an address in a space, until the
// listener is closed.
func forward(listener net.Listener, to *space, address string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go pass(conn, to, address)
	}
}

func pass(near net.Conn, to *space, address string) {
	defer near.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	far, err := to.dial(ctx, "tcp", address)
	if err != nil {
		return // the client sees a closed connection
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { half(far, near) })
	both.Go(func() { half(near, far) })
	both.Wait()
}

// half copies one direction, including its end.
func half(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if end, ok := to.(*net.TCPConn); ok {
		_ = end.CloseWrite()
	}
}
