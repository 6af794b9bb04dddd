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
	// inLine is how many answers wait for a client's stream; the next one's call waits.
	inLine = 64
	// mostClients is how many a server remembers. The one that has been without a stream for
	// longest goes first.
	mostClients = 4096
)

// client is what a server knows of one.
type client struct {
	answers chan []byte // in line for its streams of answers

	mu      sync.Mutex
	seen    security.Window
	unsent  [][]byte    // for which a broken stream was too short; before those in line
	streams []*listener // that take answers
	calls   int         // that work on one
	left    uint64      // when its last stream ended: a number that grows
}

// listener is a stream that takes a client's answers.
type listener struct {
	ctx  context.Context
	left chan struct{} // closed when it has put back what it could not send
}

// clients are those of a server.
type clients struct {
	mu   sync.Mutex
	of   map[string]*client
	ends uint64 // of streams, so far
}

// get is the client with an identity, a new one if need be.
func (all *clients) get(id string) *client {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c, known := all.of[id]; known {
		return c
	}
	if all.of == nil {
		all.of = map[string]*client{}
	}
	if len(all.of) >= mostClients {
		all.forget()
	}
	c := &client{answers: make(chan []byte, inLine), left: all.ends}
	all.of[id] = c
	return c
}

// forget forgets the client that has been idle for longest; call it with all.mu held.
func (all *clients) forget() {
	oldest, least := "", uint64(0)
	for id, c := range all.of {
		c.mu.Lock()
		idle, left := len(c.streams)+c.calls == 0, c.left
		c.mu.Unlock()
		if idle && (oldest == "" || left < least) {
			oldest, least = id, left
		}
	}
	delete(all.of, oldest)
}

// take says whether a message with this number comes for the first time.
func (c *client) take(n uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.Take(n)
}

// begin counts a call that works on an answer; not ok: no stream would take it.
func (c *client) begin() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.streams) > 0 {
		c.calls++
	}
	return len(c.streams) > 0
}

// hold counts something that goes on without a stream of answers, until end.
func (c *client) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}

func (c *client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
}

// queue puts an answer in line, and waits for room there as long as its call lasts.
func (c *client) queue(ctx context.Context, answer []byte) error {
	select {
	case c.answers <- answer:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// listen counts a stream that takes answers, until left. Where it follows streams that broke it
// waits for what they put back: it comes before what is in line.
func (all *clients) listen(ctx context.Context, c *client) (left func()) {
	l := &listener{ctx: ctx, left: make(chan struct{})}
	c.mu.Lock()
	before := slices.Clone(c.streams)
	c.streams = append(c.streams, l)
	c.mu.Unlock()
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
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams = slices.DeleteFunc(c.streams, func(other *listener) bool { return other == l })
		c.left = now
		close(l.left)
	}
}

// next is the answer to be sent next; nil: the stream ended first, or the server leaves and
// there will be none.
func (c *client) next(ctx context.Context, leaving <-chan struct{}) []byte {
	if answer := c.takeBack(); answer != nil {
		return answer
	}
	select {
	case answer := <-c.answers:
		return answer
	case <-ctx.Done():
		return nil
	case <-leaving:
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for c.busy() {
		select {
		case answer := <-c.answers:
			return answer
		case <-ctx.Done():
			return nil
		case <-look.C: // a call may have ended without an answer
		}
	}
	return nil
}

// busy says whether an answer is in line, or may yet be.
func (c *client) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls > 0 || len(c.answers) > 0
}

// takeBack is an answer that was put back; nil: there is none.
func (c *client) takeBack() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unsent) == 0 {
		return nil
	}
	answer := c.unsent[0]
	c.unsent = c.unsent[1:]
	return answer
}

// putBack keeps an answer that could not be sent for the client's next stream.
func (c *client) putBack(answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = append(c.unsent, answer)
}
