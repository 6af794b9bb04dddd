package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"rpclab/internal/process"
)

// Limits of the connections of a listener. Handlers that wait longer, such as those of followers,
// set deadlines of their own.
const (
	maxConnections  = 128              // at a time; others wait until one closes
	readTimeout     = 10 * time.Second // for a request with its body
	responseTimeout = 2 * time.Minute  // for a client that reads a response slowly
	idleTimeout     = 30 * time.Second
	maxHeaderBytes  = 64 << 10
	shutdownTimeout = 3 * time.Second // for the last response
)

// Listen serves requests at an address until end is called.
func Listen(address string, handler http.Handler, log *slog.Logger) (at net.Addr, end func(), err error) {
	files, err := process.RaiseFileLimit()
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil, fmt.Errorf("another program listens on %s; use another address, or port 0 for any free port", address)
	}
	if err != nil {
		return nil, nil, err
	}
	return listener.Addr(), serveAt(listener, connectionBudget(files), handler, log), nil
}

// connectionBudget returns how many connections a listener may have in a process that may open so
// many files. A run in this process needs the other files.
func connectionBudget(files uint64) int { return int(min(maxConnections, max(1, files/8))) }

// serveAt serves requests over a number of connections at a time until end is called.
func serveAt(listener net.Listener, connections int, handler http.Handler, log *slog.Logger) (end func()) {
	server := &http.Server{
		Handler: handler, ReadTimeout: readTimeout, WriteTimeout: responseTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(netutil.LimitListener(listener, connections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("web", "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}
}
