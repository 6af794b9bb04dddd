package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"rpclab/internal/workload"
)

// countTimeout is how long a backend may take to say how many calls it began.
const countTimeout = time.Second

// ail changes what is wrong with the backend. Every order says all of it.
func (r *replica) ail(change func(*workload.Ailment)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.ails)
	return r.order(workload.Order{Ail: &r.ails})
}

// order tells the server over its standard input; call it with r.mu held.
func (r *replica) order(o workload.Order) error {
	line, err := json.Marshal(o)
	if err == nil {
		_, err = fmt.Fprintf(r.process.Stdin, "%s\n", line)
	}
	if err != nil {
		return fmt.Errorf("give %s an order: %w", r.id, err)
	}
	return nil
}

// count asks the backend how many calls it began in its life; not ok: it cannot say.
// Only one may ask at a time.
func (r *replica) count() (calls uint64, ok bool) {
	r.counter.overhear()
	r.mu.Lock()
	err := r.order(workload.Order{Count: true})
	asked := err == nil && !r.paused
	r.mu.Unlock()
	if !asked {
		return 0, false
	}
	select {
	case <-r.counter.said:
		return r.counter.last()
	case <-r.process.Done():
		return r.finalCount()
	case <-time.After(countTimeout):
		return 0, false
	}
}

// finalCount is what a backend said last, when it went because it was told to: that
// counts all its calls.
func (r *replica) finalCount() (calls uint64, ok bool) {
	if r.process.Err() != nil {
		return 0, false
	}
	return r.counter.last()
}

// counter reads the counts that a server writes to its standard output, a line each.
type counter struct {
	said chan struct{} // there is a new one

	mu    sync.Mutex
	rest  []byte // of a line that is not complete
	count uint64
	any   bool
}

func newCounter() *counter { return &counter{said: make(chan struct{}, 1)} }

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, p...)
	for {
		line, rest, whole := bytes.Cut(c.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		c.rest = rest
		if n, err := strconv.ParseUint(string(line), 10, 64); err == nil {
			c.count, c.any = n, true
			select {
			case c.said <- struct{}{}:
			default:
			}
		}
	}
}

func (c *counter) last() (calls uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.any
}

// overhear forgets that something was said.
func (c *counter) overhear() {
	select {
	case <-c.said:
	default:
	}
}
