// Package orders tells a running server what ails it, and asks it how many calls it
// began: lines on its standard input and output, wherever it runs.
package orders

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// countTimeout is how long a backend may take to say how many calls it began.
const countTimeout = time.Second

// Process is the server that is told.
type Process interface {
	// Done closes when it has ended, and Err then says how.
	Done() <-chan struct{}
	Err() error
}

// Orders are those of one server.
type Orders struct {
	id      string
	in      io.Writer
	process Process
	counts  *Counts

	mu   sync.Mutex
	ails workload.Ailment
}

// New gives orders to the server with this identity, whose standard input is in and whose
// standard output is written to counts.
func New(id string, in io.Writer, process Process, counts *Counts) *Orders {
	return &Orders{id: id, in: in, process: process, counts: counts}
}

// Ail changes what is wrong with the server. Every order says all of it.
func (o *Orders) Ail(change func(*workload.Ailment)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.ails)
	return o.order(workload.Order{Ail: &o.ails})
}

// Secure gives the server what it waits for before it serves; nil: it does not.
func (o *Orders) Secure(party *security.Party) error {
	if party == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.order(workload.Order{Secure: party})
}

// order tells the server; call it with o.mu held.
func (o *Orders) order(order workload.Order) error {
	line, err := json.Marshal(order)
	if err == nil {
		_, err = fmt.Fprintf(o.in, "%s\n", line)
	}
	if err != nil {
		return fmt.Errorf("give %s an order: %w", o.id, err)
	}
	return nil
}

// Count asks the server how many calls it began in its life; not ok: it cannot say. Only
// one may ask at a time.
func (o *Orders) Count() (calls uint64, ok bool) {
	o.counts.overhear()
	o.mu.Lock()
	err := o.order(workload.Order{Count: true})
	o.mu.Unlock()
	if err != nil {
		return 0, false
	}
	select {
	case <-o.counts.said:
		return o.counts.last()
	case <-o.process.Done():
		return o.Final()
	case <-time.After(countTimeout):
		return 0, false
	}
}

// Final is what the server said last, when it went because it was told to: that counts all
// its calls. Only after it has ended.
func (o *Orders) Final() (calls uint64, ok bool) {
	if o.process.Err() != nil {
		return 0, false
	}
	return o.counts.last()
}
