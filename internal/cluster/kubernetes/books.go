package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// hearsay is how long the cluster may take to say how a backend ended that did.
const hearsay = 5 * time.Second

// books are what is remembered of backends since ResetUsage.
type books struct {
	ended  map[string]cluster.Usage
	served map[string]uint64 // by those that ended
	losses []string
}

func newBooks() books {
	return books{ended: map[string]cluster.Usage{}, served: map[string]uint64{}}
}

// bury takes a pod that is gone out of the books, with what it used; call it with d.mu held.
func (d *deployment) bury(r *replica) {
	delete(d.replicas, r.pod.UID)
	close(r.gone)
	r.mu.Lock()
	used, p := r.used, r.process
	r.mu.Unlock()
	d.books.ended[r.pod.Name] = used
	if p == nil || !r.counted {
		return
	}
	d.tasks.Go(func() { // its last words may be under way
		select {
		case <-p.Done():
		case <-time.After(hearsay):
			p.Detach()
		case <-d.ctx.Done():
			return
		}
		if calls, ok := r.orders.Final(); ok && calls >= r.began {
			d.mu.Lock()
			d.books.served[r.pod.Name] = calls - r.began
			d.mu.Unlock()
		}
	})
}

// note takes an end that nobody asked for into the books; call it with d.mu held.
func (d *deployment) note(r *replica) {
	for _, loss := range unasked(r.pod, r.noted, r.hit || r.pod.DeletionTimestamp != nil) {
		d.books.losses = append(d.books.losses, loss)
	}
	r.noted = ends(r.pod)
}

// ends is how often the pod's own program has ended.
func ends(pod *corev1.Pod) (n int32) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != mainContainer {
			continue
		}
		n = c.RestartCount
		if c.State.Terminated != nil {
			n++
		}
	}
	return n
}

// unasked says of a pod whose program ended oftener than was noted how it did. A pod that
// was told to go may end as it likes.
func unasked(pod *corev1.Pod, noted int32, told bool) (losses []string) {
	if pod.Status.Reason == "Evicted" || pod.Status.Reason == "Preempting" {
		return []string{fmt.Sprintf("pod %s was taken away (%s): %s", pod.Name, pod.Status.Reason, pod.Status.Message)}
	}
	if told || ends(pod) <= noted {
		return nil
	}
	for _, c := range pod.Status.ContainerStatuses {
		t := c.State.Terminated
		if t == nil {
			t = c.LastTerminationState.Terminated
		}
		if c.Name != mainContainer || t == nil {
			continue
		}
		if t.Reason == oomKilled {
			return []string{outOfMemory(pod)}
		}
		return []string{fmt.Sprintf("the server of pod %s ended unasked: %s", pod.Name, endOf(t))}
	}
	return nil
}

// oomKilled is the cluster's word for a container that was killed at its memory limit.
const oomKilled = "OOMKilled"

// outOfMemory says which pod had too little memory, and how much.
func outOfMemory(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s was %s: its memory limit is %s; raise server.memory", pod.Name, oomKilled, limitOf(pod))
}

// limitOf is the memory that a pod's server may use, as the cluster writes it.
func limitOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == mainContainer {
			return limit.String()
		}
	}
	return "that of its node"
}

// ResetUsage starts new books.
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	d.books = newBooks()
	d.mu.Unlock()
	var errs []error
	var mu sync.Mutex
	d.every(func(r *replica) {
		var err error
		p := r.attended()
		if p != nil {
			ctx, cancel := context.WithTimeout(context.Background(), asking)
			defer cancel()
			err = p.ResetUsage(ctx)
		}
		r.mu.Lock()
		r.used = cluster.Usage{}
		r.mu.Unlock()
		calls, ok := r.count()
		d.mu.Lock()
		r.began, r.counted = calls, ok
		d.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if err != nil && r.attended() == p { // else it ended, or the way to it did
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

// Usage is what each backend, those that ended too, used since ResetUsage. Of one that
// ended it is what was seen last.
func (d *deployment) Usage() map[string]cluster.Usage {
	used := map[string]cluster.Usage{}
	var mu sync.Mutex
	d.every(func(r *replica) {
		u := r.sample()
		mu.Lock()
		defer mu.Unlock()
		used[r.name()] = u
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(used, d.books.ended)
	return used
}

// Served is how many calls each backend began since ResetUsage, of those that can say so.
func (d *deployment) Served() map[string]uint64 {
	served := map[string]uint64{}
	var mu sync.Mutex
	d.every(func(r *replica) {
		calls, ok := r.count()
		d.mu.Lock()
		began, counted := r.began, r.counted
		d.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if ok && counted && calls >= began { // else the container was started anew meanwhile
			served[r.name()] = calls - began
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(served, d.books.served)
	return served
}

// every does something for every pod at once, since each takes a way through the cluster.
func (d *deployment) every(do func(*replica)) {
	d.mu.Lock()
	all := slices.Collect(maps.Values(d.replicas))
	d.mu.Unlock()
	var done sync.WaitGroup
	for _, r := range all {
		done.Go(func() { do(r) })
	}
	done.Wait()
}

// name is that of the pod, which never changes.
func (r *replica) name() string {
	r.deployment.mu.Lock()
	defer r.deployment.mu.Unlock()
	return r.pod.Name
}

// Losses are the backends that ended unasked, and what keeps others from becoming ready.
func (d *deployment) Losses() []string {
	d.awaitNotes()
	d.mu.Lock()
	losses := slices.Clone(d.books.losses)
	d.mu.Unlock()
	look := d.cluster.look
	pods := look.podsOf(d.name)
	for _, t := range diagnose(pods, current(pods, look.warningsOf(d.name), look.pullsOf(d.name), d.spec.Replicas), d.cluster.namespace) {
		losses = append(losses, strings.ReplaceAll(t.text, "\n", "; "))
	}
	return losses
}

// awaitNotes waits until the cluster has said of every backend that ended unasked how it
// did, but not for long.
func (d *deployment) awaitNotes() {
	limit := time.After(hearsay)
	for {
		changed := d.cluster.look.change()
		if !d.unheard() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			return
		case <-d.ctx.Done():
			return
		}
	}
}

// unheard says whether a program ended unasked of which the cluster has not told yet.
func (d *deployment) unheard() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.replicas {
		r.mu.Lock()
		p := r.process
		r.mu.Unlock()
		if p == nil || r.hit || r.pod.DeletionTimestamp != nil || r.noted > 0 {
			continue
		}
		select {
		case <-p.Done():
			return true // also where its agent was killed with it
		default:
		}
	}
	return false
}
