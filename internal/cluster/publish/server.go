package publish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"rpclab/internal/cluster"
)

// closeGrace is how long Close waits for requests in flight.
const closeGrace = time.Second

// API serves the slices of one service as the Kubernetes API server does, read-only and in
// JSON.
type API struct {
	addr    netip.AddrPort
	server  *http.Server
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// ServeAPI serves endpoints as slices under names at an address; port 0: a
// free port.
func ServeAPI(endpoints *cluster.Endpoints, names Names, at netip.AddrPort) (*API, error) {
	listener, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("EndpointSlice API: %w", err)
	}
	past := newHistory(names, historySize)
	now, _ := endpoints.Current()
	past.put(now)
	ctx, cancel := context.WithCancel(context.Background())
	a := &API{addr: listener.Addr().(*net.TCPAddr).AddrPort(), cancel: cancel, server: &http.Server{
		Handler:           handler(past),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends the watches
		ReadHeaderTimeout: 10 * time.Second,
	}}
	a.running.Go(func() { endpoints.Watch(ctx, past.put) })
	a.running.Go(func() { _ = a.server.Serve(listener) }) // always http.ErrServerClosed, after Close
	return a, nil
}

// Addr is where the server listens.
func (a *API) Addr() netip.AddrPort { return a.addr }

// Close ends all watches and the server, and returns when they have ended.
func (a *API) Close(ctx context.Context) error {
	a.cancel()
	ctx, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) { // a client has an idle new connection
		err = a.server.Close()
	}
	a.running.Wait()
	return err
}
