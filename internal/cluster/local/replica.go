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
	"rpclab/internal/cluster/orders"
	"rpclab/internal/measure"
	"rpclab/internal/process"
)

const (
	// startTimeout is how long a server may take until it is healthy: a JVM on a share of a busy
	// processor takes long.
	startTimeout = time.Minute
	// A ready backend is probed as a kubelet would with periodSeconds 1, timeoutSeconds 1
	// and failureThreshold 3; one that answers that it does not serve is believed at once.
	probePeriod   = time.Second
	probeFailures = 3
	// stopGrace is how long a backend may take to finish its calls after its drain.
	stopGrace = 30 * time.Second
)

// replica is one backend.
type replica struct {
	id      string
	addr    netip.AddrPort
	zone    string // empty: there is one
	process *process.Process
	health  health
	limits  bound
	*orders.Orders

	mu       sync.Mutex
	stopping bool
	paused   bool

	// Of the deployment's books, under its lock.
	baseline time.Duration // CPU time at ResetUsage
	began    uint64        // calls at ResetUsage
	counted  bool          // began is known
	peak     uint64        // memory in bytes, the last time that it was looked at
	waited   time.Duration // for its quota of CPU, at ResetUsage
}

func startReplica(id string, addr netip.AddrPort, command []string, limits bound, spec cluster.Spec, prober netip.Addr) (*replica, error) {
	args := append(command[:len(command):len(command)], "--id", id, "--listen", addr.String(), "--supervised")
	counts := orders.NewCounts()
	p, err := process.Start(process.Spec{Args: limits.command(args), Env: limits.env, Processors: limits.processors, Stdout: counts})
	if err != nil {
		return nil, err
	}
	health, err := healthOf(spec.Speaks, addr, prober)
	if err != nil {
		p.Kill()
		return nil, err
	}
	r := &replica{id: id, addr: addr, process: p, health: health, limits: limits, Orders: orders.New(id, p.Stdin, p, counts), counted: true}
	_ = r.Secure(spec.Secure) // which fails when the process has ended: that is seen, with the reason
	return r, nil
}

// awaitReady returns when it says that it serves. It fails with the server's last
// log lines when the process ends first, or takes too long.
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
	serving, err := r.health.await(ctx)
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

// tend looks after a ready backend until its process ends: its readiness follows a probe.
func (r *replica) tend(endpoints *cluster.Endpoints) {
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
			failures = probeFailures // it says so itself: there is nothing to be sure of
		}
		r.publish(endpoints, failures < probeFailures)
	}
}

// publish says whether the backend serves, unless it is leaving.
func (r *replica) publish(endpoints *cluster.Endpoints, serving bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopping {
		endpoints.Set(cluster.Endpoint{ID: r.id, Addr: r.addr, Serving: serving, Zone: r.zone})
	}
}

// leave publishes the backend as terminating and takes it out of the probe's hands.
// One that was never ready was never published, and is not now.
func (r *replica) leave(endpoints *cluster.Endpoints) {
	r.retire()
	now, _ := endpoints.Now()
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

// retire marks the backend as going away, so that it is neither probed nor replaced.
func (r *replica) retire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

func (r *replica) retired() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// kill ends the process as an event does: nobody is to wonder why it is gone.
func (r *replica) kill() {
	r.retire()
	r.process.Kill()
}

// pause stops the process in mid-work, or lets it go on.
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

// count is how many calls it began in its life; not ok: it cannot say, or is paused.
func (r *replica) count() (calls uint64, ok bool) {
	if r.isPaused() {
		return 0, false
	}
	return r.Count()
}

// sampleMemory notes the peak of memory, if the process still has it to show.
func (r *replica) sampleMemory() {
	if _, peak := measure.Used(r.process.Pid()); peak > 0 {
		r.peak = peak
	}
}

// stop ends the process gracefully. A paused one is let go on, or it could not end.
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
