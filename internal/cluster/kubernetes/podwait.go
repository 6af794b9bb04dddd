package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// persistence is how long a problem must last before the wait ends: some are transient.
	persistence = 8 * time.Second
	// podsTimeout is how long pods may take without a problem, such as for a large image.
	podsTimeout = 5 * time.Minute
)

// ErrPods says that pods did not become ready.
var ErrPods = errors.New("pods are not ready")

// awaitPods returns when done says so; done is called at every change in the namespace. A
// problem of the pods of this name that persists ends the wait.
func (c *Cluster) awaitPods(ctx context.Context, name string, wanted int, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, podsTimeout, fmt.Errorf("not ready after %s", podsTimeout))
	defer cancel()
	since := map[string]time.Time{}          // problems, by kind
	before := failed(c.watcher.podsOf(name)) // replaced by others
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		changed := c.watcher.change()
		if ok, err := done(); ok || err != nil {
			return err
		}
		pods := c.watcher.podsOf(name)
		pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return before[p.UID] })
		all := diagnose(pods, current(pods, c.watcher.warningsOf(name), c.watcher.pullsOf(name), wanted), c.namespace)
		if persistent := persisting(since, all, time.Now()); len(persistent) > 0 {
			return fmt.Errorf("%s: %w (%s):\n%s%s", name, ErrPods, c.podStatus(name, pods, wanted), texts(persistent), c.lastLines(ctx, pods))
		}
		c.Progress(name + ": " + c.podStatus(name, pods, wanted))
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("%s: %w: %w (%s)", name, ErrPods, context.Cause(ctx), c.podStatus(name, pods, wanted))
		}
	}
}

// failed are the pods that failed and do not restart.
func failed(pods []*corev1.Pod) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodFailed {
			all[p.UID] = true
		}
	}
	return all
}

// persisting notes when each problem began, and returns those that persist.
func persisting(since map[string]time.Time, all []problem, now time.Time) (persistent []problem) {
	present := map[string]bool{}
	for _, t := range all {
		present[t.kind] = true
		if _, known := since[t.kind]; !known {
			since[t.kind] = now
		}
		if now.Sub(since[t.kind]) >= persistence {
			persistent = append(persistent, t)
		}
	}
	for kind := range since {
		if !present[kind] {
			delete(since, kind)
		}
	}
	return persistent
}

func texts(all []problem) string {
	var lines []string
	for _, t := range all {
		lines = append(lines, t.text)
	}
	return strings.Join(lines, "\n")
}

// lastLines are the last log lines of the first container that does not start.
func (c *Cluster) lastLines(ctx context.Context, pods []*corev1.Pod) string {
	lines := int64(20)
	for _, p := range pods {
		for _, s := range p.Status.ContainerStatuses {
			if s.RestartCount == 0 && s.State.Terminated == nil {
				continue
			}
			options := &corev1.PodLogOptions{Container: s.Name, TailLines: &lines, Previous: s.RestartCount > 0 && s.State.Terminated == nil}
			log, err := c.api.client.CoreV1().Pods(c.namespace).GetLogs(p.Name, options).DoRaw(ctx)
			if err == nil && len(log) > 0 {
				return "\nIts last lines:\n  " + strings.ReplaceAll(strings.TrimSpace(string(log)), "\n", "\n  ")
			}
		}
	}
	return ""
}

// podStatus counts the pods by state.
func (c *Cluster) podStatus(name string, pods []*corev1.Pod, wanted int) string {
	return count(pods, c.watcher.pullsOf(name), wanted)
}
