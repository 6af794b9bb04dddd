//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// forward passes connections to a port of this machine's loopback on to an address in a
// space, until the listener is closed.
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
		return // who called sees the connection end
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { half(far, near) })
	both.Go(func() { half(near, far) })
	both.Wait()
}

// half copies one direction, and its end.
func half(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if end, ok := to.(*net.TCPConn); ok {
		_ = end.CloseWrite()
	}
}
