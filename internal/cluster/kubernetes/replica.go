package kubernetes

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/agent"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/control"
)

// attachPause is the pause before another attempt to attach to an agent.
const attachPause = 500 * time.Millisecond

// requestTimeout is how long an agent may take to answer a request.
const requestTimeout = 5 * time.Second

// replica is one pod of a deployment.
type replica struct {
	deployment *deployment
	gone       chan struct{} // closed when its pod is

	// Under the deployment's lock.
	pod      *corev1.Pod // as last seen
	noted    int32       // exits that the account has
	stopping bool        // its exit is expected
	began    uint64      // calls at ResetUsage
	counted  bool        // began is known

	mu         sync.Mutex
	process    *agent.Process      // nil: not attached
	controller *control.Controller // of the process
	paused     bool
	used       cluster.Usage // as last measured
}

func newReplica(d *deployment, pod *corev1.Pod) *replica {
	return &replica{deployment: d, pod: pod, gone: make(chan struct{}), counted: true}
}

// keepAttached attaches to the pod's agent, and again after the container restarts, until
// the pod is gone.
func (r *replica) keepAttached() {
	d := r.deployment
	for {
		if r.running() {
			if p, err := r.attach(); err == nil {
				d.cluster.watcher.notify()
				select {
				case <-p.Done():
					if !errors.Is(p.Err(), agent.ErrDisconnected) { // a new process counts from 0
						d.mu.Lock()
						r.counted = false
						d.mu.Unlock()
					}
				case <-d.ctx.Done():
					p.Detach()
				}
				d.cluster.watcher.notify()
			}
		}
		select {
		case <-d.ctx.Done():
			return
		case <-r.gone:
			return
		case <-time.After(attachPause):
		}
	}
}

// running says whether the container runs.
func (r *replica) running() bool {
	r.deployment.mu.Lock()
	defer r.deployment.mu.Unlock()
	for _, c := range r.pod.Status.ContainerStatuses {
		if c.Name == mainContainer {
			return c.State.Running != nil
		}
	}
	return false
}

func (r *replica) attach() (*agent.Process, error) {
	ctx, cancel := context.WithTimeout(r.deployment.ctx, attachTimeout)
	defer cancel()
	r.deployment.mu.Lock()
	name, host := r.pod.Name, r.pod.Status.PodIP
	r.deployment.mu.Unlock()
	p, err := r.deployment.cluster.attach(ctx, name, mainPort, agent.Target{Name: name, Host: host})
	if err != nil {
		return nil, err
	}
	counts := control.NewCallCounts()
	go func() { _, _ = io.Copy(counts, p.Stdout()) }() // ends with the process
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.controller, r.paused = p, control.New(name, p.Stdin(), p, counts), false
	return p, r.controller.SendSecurity(r.deployment.spec.Security)
}

// attached is the server process, or nil when it has exited or is not attached.
func (r *replica) attached() *agent.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return nil
	}
	select {
	case <-r.process.Done():
		return nil
	default:
		return r.process
	}
}

// signal sends a signal to the server, if it runs.
func (r *replica) signal(s syscall.Signal) error {
	p := r.attached()
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	err := p.Signal(ctx, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
	case s == syscall.SIGSTOP:
		r.paused = true
	case s == syscall.SIGCONT:
		r.paused = false
	}
	return err
}

func (r *replica) isPaused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paused
}

// sample measures what the server has used, if it still runs.
func (r *replica) sample() cluster.Usage {
	if p := r.attached(); p != nil {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		if used, err := p.Usage(ctx); err == nil {
			r.mu.Lock()
			r.used = cluster.Usage{CPU: used.CPU, MaxRSS: used.MaxRSS, Throttled: used.Throttled, Stolen: used.Stolen}
			r.mu.Unlock()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// count is how many calls have begun since it started. ok is false when it is paused or does
// not answer.
func (r *replica) count() (calls uint64, ok bool) {
	r.mu.Lock()
	controller, paused, p := r.controller, r.paused, r.process
	r.mu.Unlock()
	if controller == nil || paused {
		return 0, false
	}
	select {
	case <-p.Done():
		return controller.FinalCallCount()
	default:
		return controller.CallCount()
	}
}
