// Package component runs the processes of a route's infrastructure: proxies, forwarders,
// control planes and gateways.
package component

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
)

// The roles of a component.
const (
	Proxy        = "proxy"   // calls go through it
	Gateway      = "gateway" // it makes a call for each HTTP request
	ControlPlane = "control" // it sends the addresses of backends to clients or proxies
)

// startTimeout limits the time until a component is ready, which a gateway in Python may need on a busy machine.
// checkTimeout limits the time of one check whether it is.
const (
	startTimeout = time.Minute
	checkTimeout = 2 * time.Second
)

// Spec describes a component.
type Spec struct {
	Name    string // envoy-0, xds: in messages and results
	Role    string // [Proxy], [Gateway] or [ControlPlane]
	Process process.Spec
	// Ready returns nil once the component serves. It is called until then, or until the
	// process ends, and again after every restart. nil: the program announces its address
	// itself, by [stdio.Announce].
	Ready func(context.Context) error
	// WorkerConnections returns how many connections each worker has accepted; nil: not known.
	WorkerConnections func(context.Context) ([]uint64, error)
	// Restart starts the process again when it is killed, as a kubelet does. A process that
	// exits by itself is a failure and is not restarted.
	Restart bool
	// StopTimeout is how long the process may take to exit after SIGTERM; 0: Close kills it.
	StopTimeout time.Duration
}

// Component is a running process with its descendants.
type Component struct {
	Spec
	closing    chan struct{} // closed by Close, which does not wait for a start
	startOrEnd sync.Mutex    // held while the process is started or ended

	mu       sync.Mutex
	process  *process.Process // nil: not ready
	address  string           // as announced
	closed   bool
	used     usage
	failures []string
	watchers sync.WaitGroup
}

// usage is the resources that the processes of a component used, one after the other.
type usage struct {
	baseline time.Duration // CPU time of the running process at ResetUsage
	ended    time.Duration // CPU time since then of processes that exited
	peak     uint64
}

// end adds the usage of a process that is about to exit, or has.
func (u *usage) end(cpu time.Duration, peak uint64) {
	u.ended += max(cpu-u.baseline, 0)
	u.baseline, u.peak = 0, max(u.peak, peak)
}

// Start starts a component and returns when it is ready. Its error has the last log lines.
func Start(ctx context.Context, s Spec) (*Component, error) {
	c := &Component{Spec: s, closing: make(chan struct{})}
	c.startOrEnd.Lock()
	defer c.startOrEnd.Unlock()
	if err := c.launch(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// launch starts a process; call it with startOrEnd held.
func (c *Component) launch(ctx context.Context) error {
	run, ready := c.Process, c.Ready
	var announced address
	if ready == nil {
		run.Stdout = stdio.NewLines(announced.read)
		ready = announced.ready
	}
	running, err := process.Start(run)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	if err := c.awaitReady(ctx, running, ready); err != nil {
		running.Kill()
		return err
	}
	c.mu.Lock()
	c.process = running
	c.address = announced.get()
	c.mu.Unlock()
	c.watchers.Go(func() { c.watch(running) })
	return nil
}

func (c *Component) awaitReady(ctx context.Context, running *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ask, done := context.WithTimeout(ctx, checkTimeout)
		err := ready(ask)
		done()
		select {
		case <-running.Done(): // another process answered
			return fmt.Errorf("%s exited before it was ready: %v; its last lines:\n%s", c.Name, running.Err(), indent(running.Log()))
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-running.Done():
		case <-c.closing:
			return fmt.Errorf("%s was stopped before it was ready", c.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time: %w; its last lines:\n%s", c.Name, errors.Join(err, ctx.Err()), indent(running.Log()))
		}
	}
}

// watch records an unexpected exit.
func (c *Component) watch(running *process.Process) {
	<-running.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == running && !c.closed {
		c.process = nil
		c.used.end(running.CPU(), 0)
		c.failures = append(c.failures, fmt.Sprintf("%s exited unexpectedly: %v; its last lines:\n%s", c.Name, running.Err(), indent(running.Log())))
	}
}

// Kill ends the process with SIGKILL. If the component restarts, it is ready when Kill returns.
func (c *Component) Kill(ctx context.Context) error {
	c.startOrEnd.Lock()
	defer c.startOrEnd.Unlock()
	c.mu.Lock()
	running := c.process
	c.process = nil
	if running != nil {
		c.used.end(measure.TreeUsage(running.Pid()))
	}
	c.mu.Unlock()
	if running == nil {
		return fmt.Errorf("%s is not running", c.Name)
	}
	running.Kill()
	if c.Restart {
		return c.launch(ctx)
	}
	return nil
}

// Address is the address (host:port) that the process announced; empty: none.
func (c *Component) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}

// Signal sends the process a signal.
func (c *Component) Signal(signal os.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return fmt.Errorf("%s is not running", c.Name)
	}
	return c.process.Signal(signal)
}

// Failures describes unexpected exits since ResetUsage.
func (c *Component) Failures() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures
}

// Close ends the process, even while it starts, and returns when it has exited. The component does not
// start again.
func (c *Component) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.closing)
	}
	c.mu.Unlock()
	c.startOrEnd.Lock()
	defer c.startOrEnd.Unlock()
	c.mu.Lock()
	running := c.process
	c.process, c.Restart = nil, false
	c.mu.Unlock()
	if running != nil {
		if c.StopTimeout > 0 {
			running.Stop(c.StopTimeout)
		}
		running.Kill()
	}
	c.watchers.Wait()
}

func indent(log string) string { return "  " + strings.ReplaceAll(log, "\n", "\n  ") }

// address is what a process announced on its standard output.
type address struct {
	mu    sync.Mutex
	known string
}

func (a *address) read(line string) {
	if at, ok := stdio.Announced(line); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.known = at
	}
}

func (a *address) get() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known
}

func (a *address) ready(context.Context) error {
	if a.get() == "" {
		return errors.New("the process has not announced its address")
	}
	return nil
}
