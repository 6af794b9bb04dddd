package workload

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"rpclab/internal/security"
)

const (
	// maxQueuedResponses is how many responses may wait for a client's stream; further calls block.
	maxQueuedResponses = 64
	// maxClients is how many clients a server remembers. It forgets the client that has been without
	// a stream for longest.
	maxClients = 4096
)

// calculatorClient is the server's state of one client.
type calculatorClient struct {
	answers chan []byte // queued for its response streams

	mu      sync.Mutex
	seen    security.Window
	unsent  [][]byte          // put back by a broken stream; sent before queued responses
	streams []*responseStream // open response streams
	calls   int               // unfinished calls
	left    uint64            // value of calculatorClients.ends when its last stream ended
}

// responseStream is a stream that receives a client's responses.
type responseStream struct {
	ctx  context.Context
	left chan struct{} // closed after unsent responses were put back
}

// calculatorClients are all clients of a server.
type calculatorClients struct {
	mu   sync.Mutex
	byID map[string]*calculatorClient
	ends uint64 // number of streams that have ended
}

// get returns the client with an identity. It creates the client if needed.
func (all *calculatorClients) get(id string) *calculatorClient {
	all.mu.Lock()
	defer all.mu.Unlock()
	if client, known := all.byID[id]; known {
		return client
	}
	if all.byID == nil {
		all.byID = map[string]*calculatorClient{}
	}
	if len(all.byID) >= maxClients {
		all.forget()
	}
	client := &calculatorClient{answers: make(chan []byte, maxQueuedResponses), left: all.ends}
	all.byID[id] = client
	return client
}

// forget removes the client that has been idle for longest. Callers hold all.mu.
func (all *calculatorClients) forget() {
	oldest, least := "", uint64(0)
	for id, client := range all.byID {
		client.mu.Lock()
		idle, left := len(client.streams)+client.calls == 0, client.left
		client.mu.Unlock()
		if idle && (oldest == "" || left < least) {
			oldest, least = id, left
		}
	}
	delete(all.byID, oldest)
}

// markSeen marks a message number as seen and reports whether it was new.
func (c *calculatorClient) markSeen(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Accept(n)
}

// begin counts an unfinished call; ok is false if no stream would receive the response.
func (c *calculatorClient) begin() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.streams) > 0 {
		c.calls++
	}
	return len(c.streams) > 0
}

// hold counts work that needs no response stream, until end.
func (c *calculatorClient) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}

func (c *calculatorClient) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
}

// queue queues a response; it blocks while the queue is full and the call lasts.
func (c *calculatorClient) queue(ctx context.Context, answer []byte) error {
	select {
	case c.answers <- answer:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// listen registers a response stream until left is called. It waits until broken streams have put
// back unsent responses, which precede the queued responses.
func (all *calculatorClients) listen(ctx context.Context, client *calculatorClient) (left func()) {
	stream := &responseStream{ctx: ctx, left: make(chan struct{})}
	client.mu.Lock()
	before := slices.Clone(client.streams)
	client.streams = append(client.streams, stream)
	client.mu.Unlock()
	for _, other := range before {
		if other.ctx.Err() != nil {
			<-other.left
		}
	}
	return func() {
		all.mu.Lock()
		all.ends++
		now := all.ends
		all.mu.Unlock()
		client.mu.Lock()
		defer client.mu.Unlock()
		client.streams = slices.DeleteFunc(client.streams, func(other *responseStream) bool { return other == stream })
		client.left = now
		close(stream.left)
	}
}

// next waits for the next response to send. It returns nil if the stream ended, or if the server is
// shutting down and no response can follow.
func (c *calculatorClient) next(ctx context.Context, stopping <-chan struct{}) []byte {
	if answer := c.popUnsent(); answer != nil {
		return answer
	}
	select {
	case answer := <-c.answers:
		return answer
	case <-ctx.Done():
		return nil
	case <-stopping:
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for c.busy() {
		select {
		case answer := <-c.answers:
			return answer
		case <-ctx.Done():
			return nil
		case <-poll.C: // a call may have ended without a response
		}
	}
	return nil
}

// busy reports whether a response is queued or still being computed.
func (c *calculatorClient) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls > 0 || len(c.answers) > 0
}

// popUnsent returns a response that was put back, or nil.
func (c *calculatorClient) popUnsent() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unsent) == 0 {
		return nil
	}
	answer := c.unsent[0]
	c.unsent = c.unsent[1:]
	return answer
}

// putBack keeps an unsent response for the client's next stream.
func (c *calculatorClient) putBack(answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = append(c.unsent, answer)
}
