package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout is how long requests in progress may take after ctx has ended.
const shutdownTimeout = 30 * time.Second

// Serve answers requests until ctx ends. Then it accepts no more requests, and returns when those in
// progress have ended. After [shutdownTimeout] it closes their connections.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: requestTimeout + writeTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	return err
}
