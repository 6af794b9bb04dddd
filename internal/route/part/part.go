// Package part keeps the processes that stand between callers and backends: proxies,
// forwarders, control planes.
package part

import (
	"context"
	"errors"
	"fmt"
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

// startTimeout is how long a part may take until it is ready.
const startTimeout = 20 * time.Second

// Spec is a process to keep.
type Spec struct {
	Name string // envoy-0, xds: in messages and results
	Role string // [Proxy] or [Control]
	Run  process.Spec
	// Ready says when it serves; it is called until it returns nil, or the process ends.
	Ready func(context.Context) error
	// Again starts the process again at once when it is killed, as a kubelet does.
	Again bool
	// Grace is how long it may take to end when it is told to; 0: it is killed.
	Grace time.Duration
}

// Part is a running process with its descendants.
type Part struct {
	Spec

	mu       sync.Mutex
	process  *process.Process
	closed   bool
	baseline time.Duration // CPU time of the living ones at ResetUsage
	ended    time.Duration // CPU time since ResetUsage of processes that are gone
	peak     uint64
	losses   []string
	watchers sync.WaitGroup
}

// Start starts a part and returns when it is ready. It fails with the last log lines.
func Start(ctx context.Context, s Spec) (*Part, error) {
	p := &Part{Spec: s}
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Part) launch(ctx context.Context) error {
	running, err := process.Start(p.Run)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if err := p.awaitReady(ctx, running); err != nil {
		running.Kill()
		return err
	}
	p.mu.Lock()
	p.process = running
	p.mu.Unlock()
	p.watchers.Go(func() { p.watch(running) })
	return nil
}

func (p *Part) awaitReady(ctx context.Context, running *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-running.Done():
			return fmt.Errorf("%s ended before it was ready: %v; its last lines:\n%s", p.Name, running.Err(), indent(running.Log()))
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
		p.losses = append(p.losses, fmt.Sprintf("%s ended unasked: %v; its last lines:\n%s", p.Name, running.Err(), indent(running.Log())))
	}
}

// Kill ends the process with SIGKILL. One that is to run again is ready when Kill returns.
func (p *Part) Kill(ctx context.Context) error {
	p.mu.Lock()
	running := p.process
	if running == nil {
		p.mu.Unlock()
		return fmt.Errorf("%s is not running", p.Name)
	}
	p.note(running)
	p.process = nil
	p.mu.Unlock()
	running.Kill()
	if p.Again {
		return p.launch(ctx)
	}
	return nil
}

// note keeps what a process used that is about to end; call it with p.mu held.
func (p *Part) note(running *process.Process) {
	cpu, peak := tree(running.Pid())
	p.ended += cpu - p.baseline
	p.baseline, p.peak = 0, max(p.peak, peak)
}

// ResetUsage starts a new measurement of resources and losses.
func (p *Part) ResetUsage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.peak, p.baseline, p.losses = 0, 0, 0, nil
	if p.process != nil {
		p.baseline, _ = tree(p.process.Pid())
		for _, id := range measure.Tree(p.process.Pid()) {
			_ = measure.ResetMaxRSS(id)
		}
	}
}

// Usage is the CPU time of the process and all its descendants since ResetUsage, and
// the peak of their resident memory in bytes.
func (p *Part) Usage() (cpu time.Duration, maxRSS uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cpu, maxRSS = p.ended, p.peak
	if p.process != nil {
		now, peak := tree(p.process.Pid())
		cpu, maxRSS = cpu+now-p.baseline, max(maxRSS, peak)
	}
	return cpu, maxRSS
}

// Losses says how the process ended when nobody asked, since ResetUsage.
func (p *Part) Losses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses
}

// Close ends the process and returns when it is gone.
func (p *Part) Close() {
	p.mu.Lock()
	running := p.process
	p.process, p.closed = nil, true
	p.mu.Unlock()
	if running != nil {
		if p.Grace > 0 {
			running.Stop(p.Grace)
		}
		running.Kill()
	}
	p.watchers.Wait()
}

// tree is what a process and its descendants used so far; one that is gone used nothing.
func tree(pid int) (cpu time.Duration, peak uint64) {
	for _, id := range measure.Tree(pid) {
		own, _ := measure.CPU(id)
		rss, _ := measure.MaxRSS(id)
		cpu, peak = cpu+own, peak+rss
	}
	return cpu, peak
}

func indent(log string) string { return "  " + strings.ReplaceAll(log, "\n", "\n  ") }
