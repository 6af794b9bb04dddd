// Package control sends commands to a running server over its standard input and reads the
// answers from its standard output, on this machine or in a pod.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"rpclab/internal/process/stdio"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// countTimeout is how long a server may take to report its number of calls.
const countTimeout = time.Second

// Process is the server's process.
type Process interface {
	// Done closes when the process has exited, and Err then says how.
	Done() <-chan struct{}
	Err() error
}

// Controller sends commands to one server.
type Controller struct {
	id      string
	stdin   io.Writer
	process Process
	counts  *CallCounts

	mu    sync.Mutex
	fault workload.Fault
}

// New controls the server with this identity. Its standard output must be written to counts.
func New(id string, stdin io.Writer, process Process, counts *CallCounts) *Controller {
	return &Controller{id: id, stdin: stdin, process: process, counts: counts}
}

// Continue continues the control of the same server over a new connection.
func (c *Controller) Continue(before *Controller) {
	before.mu.Lock()
	fault := before.fault
	before.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// SetFault changes the server's fault.
func (c *Controller) SetFault(change func(*workload.Fault)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.fault)
	return c.send(workload.Command{Fault: &c.fault})
}

// SendSecurity sends the configuration that the server waits for before it serves; nil: it
// waits for none.
func (c *Controller) SendSecurity(config *security.Config) error {
	if config == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(workload.Command{Security: config})
}

// ResetConnections makes a server in a pod, or a fault proxy, reset its open connections.
func (c *Controller) ResetConnections() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(workload.Command{Reset: true})
}

// send writes a command; call it with c.mu held.
func (c *Controller) send(command workload.Command) error {
	line, err := json.Marshal(command)
	if err == nil {
		_, err = fmt.Fprintf(c.stdin, "%s\n", line)
	}
	if err != nil {
		return fmt.Errorf("send a command to %s: %w", c.id, err)
	}
	return nil
}

// CallCount asks the server how many calls have begun since it started. ok is false when it
// does not answer. Only one goroutine may call it at a time.
func (c *Controller) CallCount() (calls uint64, ok bool) {
	c.counts.discard()
	c.mu.Lock()
	err := c.send(workload.Command{Count: true})
	c.mu.Unlock()
	arrived := c.counts.arrived
	if err != nil {
		arrived = nil // it is exiting, and reports its final count
	}
	select {
	case <-arrived:
		return c.counts.last()
	case <-c.process.Done():
		return c.FinalCallCount()
	case <-time.After(countTimeout):
		return 0, false
	}
}

// FinalCallCount is the last count that a server reports when it stops gracefully: it includes
// all calls. Call it only after the process has exited.
func (c *Controller) FinalCallCount() (calls uint64, ok bool) {
	if c.process.Err() != nil {
		return 0, false
	}
	return c.counts.last()
}

// CallCounts reads the counts on a server's standard output, one a line.
type CallCounts struct {
	io.Writer
	arrived chan struct{} // a count has arrived

	mu    sync.Mutex
	count uint64
	known bool
}

// NewCallCounts returns an empty CallCounts.
func NewCallCounts() *CallCounts {
	c := &CallCounts{arrived: make(chan struct{}, 1)}
	c.Writer = stdio.NewLines(c.read)
	return c
}

func (c *CallCounts) read(line string) {
	n, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		return // a log line of the server's own runtime
	}
	c.mu.Lock()
	c.count, c.known = n, true
	c.mu.Unlock()
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

func (c *CallCounts) last() (calls uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.known
}

// discard forgets that a count has arrived.
func (c *CallCounts) discard() {
	select {
	case <-c.arrived:
	default:
	}
}
