package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/control"
	"rpclab/internal/measure"
	"rpclab/internal/process"
)

const (
	// startTimeout limits the time until a server is ready. A JVM on a busy processor needs long.
	startTimeout = cluster.DefaultReadyTimeout
	// stopGrace is how long a backend may take to finish its calls after server.drain.
	stopGrace = cluster.DefaultGrace
	// unreadyGrace is how long a program may take to stop that is not ready.
	unreadyGrace = 5 * time.Second
)

// replica is one backend.
type replica struct {
	id      string
	addr    netip.AddrPort
	zone    string // empty: there is one
	process *process.Process
	health  health
	limits  limits
	// Controller sends commands to rpclab's own server, or to the fault proxy before a program; nil: there is none.
	*control.Controller
	proxy   *faultProxy      // nil: none
	listen  netip.AddrPort   // of the program, if it has a proxy, whose address is addr
	program *cluster.Program // nil: rpclab's own server
	command []string         // of the program

	mu       sync.Mutex
	stopping bool
	paused   bool

	// Under the deployment's lock.
	baseline  time.Duration // CPU time at ResetUsage
	began     uint64        // calls at ResetUsage
	counted   bool          // began is known
	cpu       time.Duration // of the process and those that it started, when last read
	peak      uint64        // memory in bytes, when last read
	throttled time.Duration // waiting for its CPU quota, at ResetUsage
	oomKills  uint64        // of its processes, at ResetUsage
	attached  bool          // no daemon has started the program, as far as rpclab can tell; false until it is ready
}

// startServer starts rpclab's own server, or that of another language, as a backend.
func startServer(id string, addr netip.AddrPort, command []string, limits limits, spec cluster.Spec, probeSource netip.Addr) (*replica, error) {
	args := append(command[:len(command):len(command)], "--id", id, "--listen", addr.String(), "--supervised")
	counts := control.NewCallCounts()
	p, err := process.Start(process.Spec{Args: limits.command(args), Env: slices.Concat(limits.env, spec.Env), Processors: limits.processors, Stdout: counts})
	if err != nil {
		return nil, err
	}
	health, err := healthOf(readyOf(spec.Protocol), addr, probeSource)
	if err != nil {
		p.Kill()
		return nil, err
	}
	r := &replica{id: id, addr: addr, process: p, health: health, limits: limits, Controller: control.New(id, p.Stdin, p, counts), counted: true}
	_ = r.SendSecurity(spec.Security) // it fails when the process has exited, and awaitReady reports that
	return r, nil
}

// awaitReady returns when the backend serves. It fails with the last log lines when the
// process exits first, or takes too long.
func (r *replica) awaitReady(ctx context.Context) error {
	limit := startTimeout
	if r.program != nil {
		limit = cmp.Or(r.program.ReadyTimeout, startTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() {
		select {
		case <-r.process.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	err := awaitServing(ctx, r.health)
	if err == nil {
		if r.proxy != nil {
			err = r.proxy.await()
		}
		return err
	}
	select {
	case <-r.process.Done():
		return fmt.Errorf("server %s at %s did not start: %v; %s", r.id, r.addr, r.process.Err(), r.lastLines())
	default:
		return fmt.Errorf("server %s at %s was not ready within %s: %v; %s", r.id, r.addr, limit, err, r.lastLines())
	}
}

// lastLines is the end of an error message: what the process wrote last, and the command line of a program.
func (r *replica) lastLines() string {
	text := "its last lines:\n" + indent(r.process.Log())
	if r.program != nil {
		text = fmt.Sprintf("its command, in %s:\n  %s\n", process.Absolute(r.program.Dir), strings.Join(r.command, " ")) + text
	}
	return text
}

// publish publishes whether the backend serves, unless it is stopping.
func (r *replica) publish(endpoints *cluster.Endpoints, serving bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopping {
		endpoints.Set(cluster.Endpoint{ID: r.id, Addr: r.addr, Serving: serving, Zone: r.zone})
	}
}

// publishTerminating publishes the backend as terminating and ends its health checks. A backend that was
// never ready stays unpublished.
func (r *replica) publishTerminating(endpoints *cluster.Endpoints) {
	r.markStopping()
	now, _ := endpoints.Current()
	for _, e := range now.Endpoints {
		if e.ID == r.id {
			e.Terminating = true
			endpoints.Set(e)
		}
	}
}

// markStopping ends the health checks of the backend, and its replacement when it exits.
func (r *replica) markStopping() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

func (r *replica) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// kill ends the process for an event, so its exit is not a failure.
func (r *replica) kill() {
	r.markStopping()
	_ = r.each(func(p *process.Process) error { p.Kill(); return nil })
}

// addProxy puts a fault proxy before a program that has just started.
func (r *replica) addProxy(p *faultProxy) {
	r.proxy, r.listen, r.addr = p, r.addr, p.addr
	r.Controller, r.counted = p.control, true
}

// watchProxy ends a backend whose proxy has exited: no call reaches it.
func (r *replica) watchProxy() {
	<-r.proxy.Done()
	select {
	case <-r.process.Done():
	default:
		r.proxy.died.Store(!r.isStopping() && r.proxy.Err() != nil) // nil: the backend no longer listens
		r.process.Kill()
	}
}

// endProxy ends the proxy of a backend that has exited: after a graceful stop when the last response is sent,
// else at once, as the kernel closes the connections of a process that crashes.
func (r *replica) endProxy() {
	switch {
	case r.proxy == nil:
	case r.isStopping():
		r.proxy.Stop(stopGrace)
	default:
		r.proxy.Kill()
	}
}

// each calls do for the processes of a backend, its proxy first.
func (r *replica) each(do func(*process.Process) error) error {
	if r.proxy == nil {
		return do(r.process)
	}
	return errors.Join(do(r.proxy.Process), do(r.process))
}

// pause suspends the process and those that it started, or resumes them.
func (r *replica) pause(paused bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = paused
	if paused {
		return r.each((*process.Process).Suspend)
	}
	return r.each((*process.Process).Resume)
}

func (r *replica) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused
}

// count returns the number of calls that the backend has started. ok is false if the backend is paused,
// does not answer, or does not count its calls.
func (r *replica) count() (calls uint64, ok bool) {
	if r.Controller == nil || r.isPaused() {
		return 0, false
	}
	return r.CallCount()
}

// sample stores the usage of the process and of those that it started, unless the process has exited. What
// is left of processes that are killed with the one that started them is the last sample. Call it with the
// deployment's lock held.
func (r *replica) sample() (running bool) {
	cpu, peak := measure.TreeUsage(r.process.Pid())
	if peak > 0 {
		r.cpu, r.peak = cpu, peak
	}
	return peak > 0
}

// finalUsage is the usage of a backend whose process has exited, since ResetUsage.
func (r *replica) finalUsage() cluster.Usage {
	return r.withLimits(cluster.Usage{CPU: max(r.process.CPU(), r.cpu) - r.baseline, MaxRSS: r.peak})
}

// stop ends the process gracefully. It resumes a paused process, which could not exit. rpclab's own server
// drains by itself after SIGTERM; a program is signalled after the drain, as a pod whose preStop hook sleeps.
func (r *replica) stop(drain time.Duration) {
	_ = r.each((*process.Process).Resume)
	if r.program == nil {
		r.process.Stop(drain + stopGrace)
		return
	}
	select {
	case <-time.After(drain):
	case <-r.process.Done():
	}
	r.process.StopBy(r.program.StopSignal(), cmp.Or(r.program.Grace, stopGrace))
}

func indent(log string) string {
	if log == "" {
		return "  (nothing was written)"
	}
	return "  " + strings.ReplaceAll(log, "\n", "\n  ")
}

// withLimits adds what the control group of a backend reports.
func (r *replica) withLimits(used cluster.Usage) cluster.Usage {
	group := r.limits.group.Usage()
	used.Throttled, used.Charged = group.Throttled-r.throttled, group.PeakMemory
	return used
}
