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

// reportTimeout is how long the cluster may take to report how a backend exited.
const reportTimeout = 5 * time.Second

// accounting is what a deployment remembers of backends since ResetUsage.
type accounting struct {
	exited   map[string]cluster.Usage
	calls    map[string]uint64 // begun by backends that exited
	failures []string
}

func newAccounting() accounting {
	return accounting{exited: map[string]cluster.Usage{}, calls: map[string]uint64{}}
}

// recordExit moves a pod that is gone to the account; call it with d.mu held.
func (d *deployment) recordExit(backend *replica) {
	delete(d.replicas, backend.pod.UID)
	close(backend.gone)
	backend.mu.Lock()
	used, process := backend.used, backend.process
	backend.mu.Unlock()
	d.account.exited[backend.pod.Name] = used
	if process == nil || !backend.counted {
		return
	}
	d.tasks.Go(func() { // the last output may still arrive
		select {
		case <-process.Done():
		case <-time.After(reportTimeout):
			process.Detach()
		case <-d.ctx.Done():
			return
		}
		if calls, ok := backend.controller.FinalCallCount(); ok && calls >= backend.began {
			d.mu.Lock()
			d.account.calls[backend.pod.Name] = calls - backend.began
			d.mu.Unlock()
		}
	})
}

// noteExit notes an unexpected exit; call it with d.mu held.
func (d *deployment) noteExit(backend *replica) {
	d.account.failures = append(d.account.failures, unexpectedExits(backend.pod, backend.noted, backend.stopping || backend.pod.DeletionTimestamp != nil)...)
	backend.noted = exits(backend.pod)
}

// exits is how often the pod's server has exited.
func exits(pod *corev1.Pod) (n int32) {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != mainContainer {
			continue
		}
		n = status.RestartCount
		if status.State.Terminated != nil {
			n++
		}
	}
	return n
}

// unexpectedExits describes how the pod's server exited, if it exited more often than noted. A
// stopped pod may exit in any way.
func unexpectedExits(pod *corev1.Pod, noted int32, stopped bool) (failures []string) {
	if pod.Status.Reason == "Evicted" || pod.Status.Reason == "Preempting" {
		return []string{fmt.Sprintf("pod %s was evicted (%s): %s", pod.Name, pod.Status.Reason, pod.Status.Message)}
	}
	if stopped || exits(pod) <= noted {
		return nil
	}
	for _, status := range pod.Status.ContainerStatuses {
		terminated := status.State.Terminated
		if terminated == nil {
			terminated = status.LastTerminationState.Terminated
		}
		if status.Name != mainContainer || terminated == nil {
			continue
		}
		if terminated.Reason == oomKilled {
			return []string{outOfMemory(pod)}
		}
		return []string{fmt.Sprintf("the server of pod %s exited unexpectedly: %s", pod.Name, endOf(terminated))}
	}
	return nil
}

// oomKilled is the reason of a container that was killed at its memory limit.
const oomKilled = "OOMKilled"

// outOfMemory says which pod exceeded its memory limit.
func outOfMemory(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s was %s: its memory limit is %s; raise server.memory", pod.Name, oomKilled, limitOf(pod))
}

// limitOf is the memory limit of a pod's server.
func limitOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == mainContainer {
			return limit.String()
		}
	}
	return "that of its node"
}

// ResetUsage implements [cluster.Deployment].
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	d.account = newAccounting()
	d.mu.Unlock()
	var errs []error
	var mu sync.Mutex
	d.every(func(backend *replica) {
		var err error
		p := backend.attached()
		if p != nil {
			ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
			defer cancel()
			err = p.ResetUsage(ctx)
		}
		backend.mu.Lock()
		backend.used = cluster.Usage{}
		backend.mu.Unlock()
		calls, ok := backend.count()
		d.mu.Lock()
		backend.began, backend.counted = calls, ok
		d.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if err != nil && backend.attached() == p { // else it exited, or the connection broke
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

// Usage includes backends that exited since ResetUsage, as last measured.
func (d *deployment) Usage() map[string]cluster.Usage {
	used := map[string]cluster.Usage{}
	var mu sync.Mutex
	d.every(func(backend *replica) {
		u := backend.sample()
		mu.Lock()
		defer mu.Unlock()
		used[backend.name()] = u
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(used, d.account.exited)
	return used
}

// CallCounts leaves out backends that do not answer.
func (d *deployment) CallCounts() map[string]uint64 {
	counts := map[string]uint64{}
	var mu sync.Mutex
	d.every(func(backend *replica) {
		calls, ok := backend.count()
		d.mu.Lock()
		began, counted := backend.began, backend.counted
		d.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if ok && counted && calls >= began { // else the container restarted
			counts[backend.name()] = calls - began
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(counts, d.account.calls)
	return counts
}

// every calls do for all pods at once, because each call crosses the cluster.
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

// name is the name of the pod.
func (r *replica) name() string {
	r.deployment.mu.Lock()
	defer r.deployment.mu.Unlock()
	return r.pod.Name
}

// Failures describes backends that exited unexpectedly, and problems that keep others from
// becoming ready.
func (d *deployment) Failures() []string {
	d.awaitReports()
	d.mu.Lock()
	failures := slices.Clone(d.account.failures)
	d.mu.Unlock()
	watcher := d.cluster.watcher
	pods := watcher.podsOf(d.name)
	for _, t := range diagnose(pods, current(pods, watcher.warningsOf(d.name), watcher.pullsOf(d.name), d.spec.Replicas), d.cluster.namespace) {
		failures = append(failures, strings.ReplaceAll(t.text, "\n", "; "))
	}
	return failures
}

// awaitReports waits, not for long, until the cluster has reported all unexpected exits.
func (d *deployment) awaitReports() {
	limit := time.After(reportTimeout)
	for {
		changed := d.cluster.watcher.change()
		if !d.hasUnreportedExit() {
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

// hasUnreportedExit says whether a server exited unexpectedly and the cluster has not
// reported it.
func (d *deployment) hasUnreportedExit() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.replicas {
		r.mu.Lock()
		p := r.process
		r.mu.Unlock()
		if p == nil || r.stopping || r.pod.DeletionTimestamp != nil || r.noted > 0 {
			continue
		}
		select {
		case <-p.Done():
			return true // also when its agent was killed with it
		default:
		}
	}
	return false
}
