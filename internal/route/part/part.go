// Package part keeps the processes that stand between callers and backends: proxies,
// forwarders, control planes.
package part

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
)

// The roles of a part.
const (
	Proxy   = "proxy"   // calls go through it
	Gateway = "gateway" // it makes the calls of study 1, for HTTP requests
	Control = "control" // it tells clients or proxies where backends are
)

// startTimeout is how long a part may take until it is ready, askTimeout how long it
// may take to say whether it is.
const (
	startTimeout = 20 * time.Second
	askTimeout   = 2 * time.Second
)

// Spec is a process to keep.
type Spec struct {
	Name string // envoy-0, xds: in messages and results
	Role string // [Proxy], [Gateway] or [Control]
	Run  process.Spec
	// Ready says when it serves; it is called until it returns nil, or the process ends,
	// and again for every process that takes the place of one that was killed. nil: the
	// program says so itself, by [Say].
	Ready func(context.Context) error
	// Connections says how many connections each of its workers took since it began; nil:
	// it does not say.
	Connections func(context.Context) ([]uint64, error)
	// Again starts the process again at once when it is killed, as a kubelet does. One
	// that ends by itself is a loss and stays away.
	Again bool
	// Grace is how long it may take to end when it is told to; 0: it is killed.
	Grace time.Duration
}

// Part is a running process with its descendants.
type Part struct {
	Spec
	ending chan struct{} // closed by Close, so that it waits for no start
	turn   sync.Mutex    // held by who starts or ends the process

	mu       sync.Mutex
	process  *process.Process // nil: none is ready
	address  string           // that it said
	closed   bool
	spent    spending
	losses   []string
	watchers sync.WaitGroup
}

// Start starts a part and returns when it is ready. It fails with the last log lines.
func Start(ctx context.Context, s Spec) (*Part, error) {
	p := &Part{Spec: s, ending: make(chan struct{})}
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// launch starts a process; call it with p.turn held.
func (p *Part) launch(ctx context.Context) error {
	run, ready := p.Run, p.Ready
	var said word
	if ready == nil {
		run.Stdout = &said
		ready = func(context.Context) error {
			_, err := said.address()
			return err
		}
	}
	running, err := process.Start(run)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if err := p.awaitReady(ctx, running, ready); err != nil {
		running.Kill()
		return err
	}
	p.mu.Lock()
	p.process = running
	p.address, _ = said.address()
	p.mu.Unlock()
	p.watchers.Go(func() { p.watch(running) })
	return nil
}

func (p *Part) awaitReady(ctx context.Context, running *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ask, done := context.WithTimeout(ctx, askTimeout)
		err := ready(ask)
		done()
		select {
		case <-running.Done(): // whoever answered was not this one
			return fmt.Errorf("%s ended before it was ready: %v; its last lines:\n%s", p.Name, running.Err(), indent(running.Log()))
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-running.Done():
		case <-p.ending:
			return fmt.Errorf("%s was told to end before it was ready", p.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time: %w; its last lines:\n%s", p.Name, errors.Join(err, ctx.Err()), indent(running.Log()))
		}
	}
}

// watch notes an end that nobody asked for.
func (p *Part) watch(running *process.Process) {
	<-running.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == running && !p.closed {
		p.process = nil
		p.spent.end(running.CPU(), 0)
		p.losses = append(p.losses, fmt.Sprintf("%s ended unasked: %v; its last lines:\n%s", p.Name, running.Err(), indent(running.Log())))
	}
}

// Kill ends the process with SIGKILL. One that is to run again is ready when Kill returns.
func (p *Part) Kill(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	running := p.process
	p.process = nil
	if running != nil {
		p.spent.end(measure.Used(running.Pid()))
	}
	p.mu.Unlock()
	if running == nil {
		return fmt.Errorf("%s is not running", p.Name)
	}
	running.Kill()
	if p.Again {
		return p.launch(ctx)
	}
	return nil
}

// Address is where the process said that it listens (host:port); empty: it does not say.
func (p *Part) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

// Signal sends the process a signal.
func (p *Part) Signal(signal os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return fmt.Errorf("%s is not running", p.Name)
	}
	return p.process.Signal(signal)
}

// Losses says how the process ended when nobody asked, since ResetUsage.
func (p *Part) Losses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses
}

// Close ends the process, also one that is just being started, and returns when it is
// gone. Nothing starts after it.
func (p *Part) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.ending)
	}
	p.mu.Unlock()
	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	running := p.process
	p.process, p.Again = nil, false
	p.mu.Unlock()
	if running != nil {
		if p.Grace > 0 {
			running.Stop(p.Grace)
		}
		running.Kill()
	}
	p.watchers.Wait()
}

func indent(log string) string { return "  " + strings.ReplaceAll(log, "\n", "\n  ") }
