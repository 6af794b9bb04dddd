package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/control"
	"rpclab/internal/workload"
)

const (
	// attachPause is the pause before another attempt to attach to an agent.
	attachPause = 500 * time.Millisecond
	// reportTimeout is how long the cluster may take to report how a backend exited.
	reportTimeout = 5 * time.Second
)

// replica is one pod of a deployment.
type replica struct {
	run  *run
	name string // of the pod
	spec cluster.Spec
	gone chan struct{} // closed when the pod is
	// meter measures the server of a user.
	meter *meter

	mu         sync.Mutex
	pod        *corev1.Pod         // as last seen
	ran        time.Time           // when its containers were first seen running; zero: not yet
	noted      map[string]int32    // exits that update has described, as [exits] counts them
	stopping   bool                // its exit is expected
	process    *agent.Process      // of the server, or of the fault proxy before it; nil: not attached
	controller *control.Controller // of the process
	paused     bool
	used       cluster.Usage // as last measured
	known      bool          // used counts from the last reset, or from the start of the pod
	sampled    bool          // used is of this measurement, and the last one succeeded
	began      uint64        // calls at the last reset
	counted    bool          // began is known, and is of this process
}

func newReplica(run *run, pod *corev1.Pod, spec cluster.Spec) *replica {
	r := &replica{run: run, name: pod.Name, spec: spec, gone: make(chan struct{}), pod: pod, counted: true, known: true}
	r.meter = &meter{run: run, spec: spec, pod: r.seen, gone: r.gone, started: make(chan struct{}), known: true}
	return r
}

// keepAttached attaches to the pod's agent, and again after the container restarts, until
// the pod is gone or the context ends.
func (r *replica) keepAttached(ctx context.Context) {
	for {
		if r.running() {
			if process, err := r.attach(ctx); err == nil {
				r.run.watcher.notify()
				select {
				case <-process.Done():
				case <-ctx.Done():
					process.Detach()
				}
				r.run.watcher.notify()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.gone:
			return
		case <-time.After(attachPause):
		}
	}
}

// running says whether the container with the agent runs.
func (r *replica) running() bool {
	if hasFaultProxy(r.spec) {
		return containerRuns(r.seen(), proxyContainer)
	}
	return containerRuns(r.seen(), mainContainer)
}

// attach attaches to the process of the server, or to that of its fault proxy.
func (r *replica) attach(ctx context.Context) (*agent.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	host := r.seen().Status.PodIP
	process, err := r.run.attach(ctx, r.name, agentPort(r.spec), agent.Target{Name: r.name, Host: host})
	if err != nil {
		return nil, err
	}
	if err := r.adopt(process); err != nil {
		process.Detach()
		return nil, err
	}
	return process, nil
}

// adopt makes a process the replica's, and sends it its keys. A fault proxy that has them ignores them.
func (r *replica) adopt(process *agent.Process) error {
	counts := control.NewCallCounts()
	go func() { _, _ = io.Copy(counts, process.Stdout()) }() // ends with the process
	controller := control.New(r.name, process.Stdin(), process, counts)
	if err := controller.SendSecurity(r.spec.Security); err != nil {
		return err
	}
	if hasFaultProxy(r.spec) && r.spec.ProxyTLS != nil {
		if err := json.NewEncoder(process.Stdin()).Encode(r.spec.ProxyTLS); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.process == nil:
	case process.ID() != "" && r.process.ID() == process.ID(): // only the connection was lost
		controller.Continue(r.controller)
	default: // a new process counts from 0
		r.counted, r.known, r.paused = false, false, false
	}
	r.process, r.controller = process, controller
	return nil
}

// attached is the server process, or nil when it has exited or is not attached.
func (r *replica) attached() *agent.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || isDone(r.process) {
		return nil
	}
	return r.process
}

// isDone says whether a process has exited or is no longer attached.
func isDone(p *agent.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// hasEnded says whether the server has ended. It has if the connection to its agent broke while it was stopping.
func (r *replica) hasEnded() bool {
	if !r.running() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || !isDone(r.process) {
		return false
	}
	return r.stopping || r.pod.DeletionTimestamp != nil || !errors.Is(r.process.Err(), agent.ErrDisconnected)
}

// update notes the pod's present state, and describes unexpected exits that are new in it.
func (r *replica) update(pod *corev1.Pod) (failures []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	failures = unexpectedExits(pod, r.noted, r.stopping || pod.DeletionTimestamp != nil)
	r.pod, r.noted = pod, exits(pod)
	if r.ran.IsZero() && pod.Status.Phase == corev1.PodRunning {
		r.ran = time.Now()
	}
	return failures
}

// seen is the pod as last seen.
func (r *replica) seen() *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pod
}

// runningFor is how long the pod has been seen running; 0: it does not run yet.
func (r *replica) runningFor() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ran.IsZero() {
		return 0
	}
	return time.Since(r.ran)
}

// node is the node of the pod; empty: it is not scheduled.
func (r *replica) node() string { return r.seen().Spec.NodeName }

// expectExit says that the backend exits soon, which is no failure.
func (r *replica) expectExit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

func (r *replica) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping
}

// hasUnreportedExit says whether the server exited unexpectedly and the cluster has not
// reported it.
func (r *replica) hasUnreportedExit() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || r.stopping || r.pod.DeletionTimestamp != nil || len(r.noted) > 0 {
		return false
	}
	select {
	case <-r.process.Done():
		return true // also when its agent was killed with it
	default:
		return false
	}
}

// signal sends a signal to the server, if it runs.
func (r *replica) signal(number syscall.Signal) error {
	process := r.attached()
	if process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	err := process.Signal(ctx, number)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
	case number == syscall.SIGSTOP:
		r.paused = true
	case number == syscall.SIGCONT:
		r.paused = false
	}
	return err
}

func (r *replica) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused
}

// resetUsage starts a new measurement of resources and calls.
func (r *replica) resetUsage() (err error) {
	process := r.attached()
	if process != nil {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		err = process.ResetUsage(ctx)
	}
	r.mu.Lock()
	r.used, r.sampled = cluster.Usage{}, false
	r.known = process != nil && err == nil || r.process == nil && !ready(r.pod)
	r.mu.Unlock()
	r.meter.reset()
	calls, ok := r.count()
	r.mu.Lock()
	r.began, r.counted = calls, ok
	r.mu.Unlock()
	if r.attached() != process { // it exited, or the connection broke
		return nil
	}
	return err
}

// sample measures what the server has used, if it can. For a server that stops or has ended, the last measurement holds.
func (r *replica) sample() {
	if r.spec.Program != nil { // any other process is a fault proxy
		_ = r.meter.sample(r.isStopping())
		return
	}
	used, err := r.processUsage()
	leaves := err != nil && (r.hasEnded() || r.isStopping() || r.meter.isLeaving())
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.used = cluster.Usage{CPU: used.CPU, MaxRSS: used.MaxRSS, Throttled: used.Throttled, Stolen: used.Stolen}
	}
	r.sampled = err == nil || r.sampled && leaves
}

// processUsage is what the process of the server, or of its fault proxy, has used since the last reset.
func (r *replica) processUsage() (agent.Usage, error) {
	process := r.attached()
	if process == nil {
		return agent.Usage{}, fmt.Errorf("%s has exited, or its agent does not answer", r.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	return process.Usage(ctx)
}

// ip is the address of the pod; false: it has none yet.
func (r *replica) ip() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(r.seen().Status.PodIP)
	return ip, err == nil
}

// calls is how many calls have begun since the last reset. ok is false when the backend does
// not answer, or its process is another since then.
func (r *replica) calls() (n uint64, ok bool) {
	n, ok = r.count()
	return r.sinceReset(n, ok)
}

// finalCalls is calls for a backend whose pod is gone. It waits for the last output of the server.
func (r *replica) finalCalls(ctx context.Context) (n uint64, ok bool) {
	r.mu.Lock()
	process, controller := r.process, r.controller
	r.mu.Unlock()
	if process == nil {
		return 0, false
	}
	select {
	case <-process.Done():
	case <-time.After(reportTimeout):
		process.Detach()
	case <-ctx.Done():
		return 0, false
	}
	n, ok = controller.FinalCallCount()
	return r.sinceReset(n, ok)
}

// sinceReset subtracts the calls before the last reset.
func (r *replica) sinceReset(total uint64, known bool) (n uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !known || !r.counted || total < r.began {
		return 0, false
	}
	return total - r.began, true
}

// count is how many calls have begun since the server started. ok is false when it is paused or
// does not answer.
func (r *replica) count() (calls uint64, ok bool) {
	r.mu.Lock()
	controller, paused, process := r.controller, r.paused, r.process
	r.mu.Unlock()
	if controller == nil || paused {
		return 0, false
	}
	select {
	case <-process.Done():
		return controller.FinalCallCount()
	default:
		return controller.CallCount()
	}
}

// setFault changes the fault of the backend, if its process has started.
func (r *replica) setFault(change func(*workload.Fault)) error {
	return r.command(func(c *control.Controller) error { return c.SetFault(change) })
}

// resetConnections makes the backend, or its fault proxy, reset its connections, if it has started.
func (r *replica) resetConnections() error { return r.command((*control.Controller).ResetConnections) }

// command sends a command to the process of the backend, if it has started.
func (r *replica) command(send func(*control.Controller) error) error {
	r.mu.Lock()
	controller := r.controller
	r.mu.Unlock()
	if controller == nil {
		return nil
	}
	return send(controller)
}
