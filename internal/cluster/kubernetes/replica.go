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
	"rpclab/internal/cluster/orders"
)

// again is the pause before an agent that is not there, or no more, is attended to again.
const again = 500 * time.Millisecond

// asking is how long an agent may take to do what it is asked.
const asking = 5 * time.Second

// replica is one pod of a deployment.
type replica struct {
	deployment *deployment
	gone       chan struct{} // closed when its pod is

	// Of the deployment's books, under its lock.
	pod     *corev1.Pod // as it was seen last
	noted   int32       // how many of its ends are in the books
	hit     bool        // its end was asked for
	began   uint64      // calls at ResetUsage
	counted bool        // began is known

	mu      sync.Mutex
	process *agent.Process // nil: its agent is not attended to
	orders  *orders.Orders // of the process
	paused  bool
	used    cluster.Usage // the last time that it was looked at
}

func newReplica(d *deployment, pod *corev1.Pod) *replica {
	return &replica{deployment: d, pod: pod, gone: make(chan struct{}), counted: true}
}

// tend attends to the pod's agent, again whenever the container was started anew, until
// the pod is gone.
func (r *replica) tend() {
	d := r.deployment
	for {
		if r.running() {
			if p, err := r.attend(); err == nil {
				d.cluster.look.tell()
				select {
				case <-p.Done():
					if !errors.Is(p.Err(), agent.ErrLost) { // another process counts from 0
						d.mu.Lock()
						r.counted = false
						d.mu.Unlock()
					}
				case <-d.ctx.Done():
					p.Detach()
				}
				d.cluster.look.tell()
			}
		}
		select {
		case <-d.ctx.Done():
			return
		case <-r.gone:
			return
		case <-time.After(again):
		}
	}
}

// running says whether there is an agent to attend to.
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

func (r *replica) attend() (*agent.Process, error) {
	ctx, cancel := context.WithTimeout(r.deployment.ctx, attendance)
	defer cancel()
	r.deployment.mu.Lock()
	name, host := r.pod.Name, r.pod.Status.PodIP
	r.deployment.mu.Unlock()
	p, err := r.deployment.cluster.attend(ctx, name, mainPort, agent.Place{Name: name, Host: host})
	if err != nil {
		return nil, err
	}
	counts := orders.NewCounts()
	go func() { _, _ = io.Copy(counts, p.Out()) }() // it ends when the process does
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.orders, r.paused = p, orders.New(name, p.In(), p, counts), false
	return p, r.orders.Secure(r.deployment.spec.Secure)
}

// attended is the program behind the pod's agent; nil: there is none, or no way to it.
func (r *replica) attended() *agent.Process {
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

// signal sends the program a signal.
func (r *replica) signal(s syscall.Signal) error {
	p := r.attended()
	if p == nil {
		return nil // it has ended
	}
	ctx, cancel := context.WithTimeout(context.Background(), asking)
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

// sample notes what the program used so far, if it can still be asked.
func (r *replica) sample() cluster.Usage {
	if p := r.attended(); p != nil {
		ctx, cancel := context.WithTimeout(context.Background(), asking)
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

// count is how many calls it began in its life; not ok: it cannot say, or is paused.
func (r *replica) count() (calls uint64, ok bool) {
	r.mu.Lock()
	told, paused, p := r.orders, r.paused, r.process
	r.mu.Unlock()
	if told == nil || paused {
		return 0, false
	}
	select {
	case <-p.Done():
		return told.Final()
	default:
		return told.Count()
	}
}
