package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

const (
	// connectTimeout is how long a request waits for connections.
	connectTimeout = time.Second
	// connectPause is the time between two calls of which the first found no new connection.
	connectPause = 5 * time.Millisecond
	// noMethod is a method that no server has: it fails at once, and no server or client counts it.
	noMethod = "/rpclab.v1.Connect/Never"
)

// watched are the backends of a channel that watches endpoints.
type watched struct {
	mu    sync.Mutex
	known []string // addresses that the resolver received last

	connecting sync.Mutex // one request waits, and others for it
	// awaited are the addresses that were connected, or not within connectTimeout.
	awaited []string
}

// update is called with each set of addresses that the resolver receives.
func (w *watched) update(_ time.Time, addrs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = slices.Clone(addrs)
}

func (w *watched) addresses() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known
}

// connect waits, for a limited time, until the channel is connected to every backend that is new to it. The calls of a burst
// would otherwise all go to the backends that connect first.
func (w *watched) connect(ctx context.Context, channel *grpc.ClientConn) {
	w.connecting.Lock()
	defer w.connecting.Unlock()
	known := w.addresses()
	w.awaited = slices.DeleteFunc(w.awaited, func(address string) bool { return !slices.Contains(known, address) })
	limited, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for ; !w.connected(known); known = w.addresses() {
		if address := answering(limited, channel); address != "" && !slices.Contains(w.awaited, address) {
			w.awaited = append(w.awaited, address)
			continue
		}
		select {
		case <-time.After(connectPause):
		case <-limited.Done():
			if ctx.Err() == nil {
				w.awaited = slices.Clone(known)
			}
			return
		}
	}
}

// connected reports whether there are backends and each was awaited.
func (w *watched) connected(known []string) bool {
	return len(known) > 0 && !slices.ContainsFunc(known, func(address string) bool { return !slices.Contains(w.awaited, address) })
}

// answering makes a call that is not counted, and returns the address of the backend, or "" if no backend answers.
func answering(ctx context.Context, channel *grpc.ClientConn) string {
	var from peer.Peer
	stream, err := channel.NewStream(ctx, &grpc.StreamDesc{}, noMethod, grpc.Peer(&from))
	if err != nil {
		return ""
	}
	_ = stream.CloseSend()
	_ = stream.RecvMsg(nil) // fails
	if from.Addr == nil {
		return ""
	}
	return from.Addr.String()
}
