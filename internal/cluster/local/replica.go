package local

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/control"
	"rpclab/internal/measure"
	"rpclab/internal/process"
)

const (
	// startTimeout limits the time until a server is healthy. A JVM on a busy processor needs long.
	startTimeout = time.Minute
	// Health checks of a ready backend are those of a kubelet with periodSeconds 1,
	// timeoutSeconds 1 and failureThreshold 3. The answer NOT_SERVING takes effect at once.
	probePeriod   = time.Second
	probeFailures = 3
	// stopGrace is how long a backend may take to finish its calls after server.drain.
	stopGrace = 30 * time.Second
)

// replica is one backend.
type replica struct {
	id      string
	addr    netip.AddrPort
	zone    string // empty: there is one
	process *process.Process
	health  health
	limits  limits
	*control.Controller

	mu       sync.Mutex
	stopping bool
	paused   bool

	// Under the deployment's lock.
	baseline  time.Duration // CPU time at ResetUsage
	began     uint64        // calls at ResetUsage
	counted   bool          // began is known
	peak      uint64        // memory in bytes, when last read
	throttled time.Duration // waiting for its CPU quota, at ResetUsage
}

func startReplica(id string, addr netip.AddrPort, command []string, limits limits, spec cluster.Spec, probeSource netip.Addr) (*replica, error) {
	args := append(command[:len(command):len(command)], "--id", id, "--listen", addr.String(), "--supervised")
	counts := control.NewCallCounts()
	p, err := process.Start(process.Spec{Args: limits.command(args), Env: limits.env, Processors: limits.processors, Stdout: counts})
	if err != nil {
		return nil, err
	}
	health, err := healthOf(spec.Protocol, addr, probeSource)
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
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	go func() {
		select {
		case <-r.process.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	serving, err := r.health.firstAnswer(ctx)
	if err == nil && serving {
		return nil
	}
	select {
	case <-r.process.Done():
		return fmt.Errorf("server %s at %s did not start: %v; its last lines:\n%s", r.id, r.addr, r.process.Err(), indent(r.process.Log()))
	default:
		return fmt.Errorf("server %s at %s was not healthy in time: %v; its last lines:\n%s", r.id, r.addr, err, indent(r.process.Log()))
	}
}

// supervise publishes the readiness of a backend by health checks until its process exits.
func (r *replica) supervise(endpoints *cluster.Endpoints) {
	tick := time.NewTicker(probePeriod)
	defer tick.Stop()
	failures := 0
	for {
		select {
		case <-r.process.Done():
			return
		case <-tick.C:
		}
		switch serving, err := r.probe(); {
		case err != nil:
			failures++
		case serving:
			failures = 0
		default:
			failures = probeFailures // NOT_SERVING: no need for more checks
		}
		r.publish(endpoints, failures < probeFailures)
	}
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

func (r *replica) probe() (serving bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probePeriod)
	defer cancel()
	return r.health.probe(ctx)
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
	r.process.Kill()
}

// pause suspends the process, or resumes it.
func (r *replica) pause(paused bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = paused
	if paused {
		return r.process.Signal(syscall.SIGSTOP)
	}
	return r.process.Signal(syscall.SIGCONT)
}

func (r *replica) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused
}

// count returns the number of calls that the backend has started. ok is false if the backend is paused
// or does not answer.
func (r *replica) count() (calls uint64, ok bool) {
	if r.isPaused() {
		return 0, false
	}
	return r.CallCount()
}

// sampleMemory stores the peak of memory, unless the process has exited.
func (r *replica) sampleMemory() {
	if _, peak := measure.TreeUsage(r.process.Pid()); peak > 0 {
		r.peak = peak
	}
}

// stop ends the process gracefully. It resumes a paused process, which could not exit.
func (r *replica) stop(drain time.Duration) {
	_ = r.process.Signal(syscall.SIGCONT)
	r.process.Stop(drain + stopGrace)
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
