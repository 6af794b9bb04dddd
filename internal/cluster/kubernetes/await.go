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
	// lasting is how long a trouble has to last until it is believed: some pass.
	lasting = 8 * time.Second
	// longest is how long pods may take without any trouble: to get a large image, say.
	longest = 5 * time.Minute
)

// ErrPods says that pods did not become ready.
var ErrPods = errors.New("pods do not become ready")

// awaitPods returns when done does say so, which is asked at every change in the namespace.
// What keeps the pods of this name from it ends the wait once it has lasted.
func (c *Cluster) awaitPods(ctx context.Context, name string, wanted int, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("nothing happened for %s", longest))
	defer cancel()
	since := map[string]time.Time{}       // troubles, by kind
	before := failed(c.look.podsOf(name)) // whose places others are taking
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		changed := c.look.change()
		if ok, err := done(); ok || err != nil {
			return err
		}
		pods := c.look.podsOf(name)
		pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return before[p.UID] })
		all := diagnose(pods, current(pods, c.look.warningsOf(name), c.look.pullsOf(name), wanted), c.namespace)
		if lasts := persist(since, all, time.Now()); len(lasts) > 0 {
			return fmt.Errorf("%s: %w (%s):\n%s%s", name, ErrPods, c.stand(name, pods, wanted), texts(lasts), c.lastLines(ctx, pods))
		}
		c.Progress(name + ": " + c.stand(name, pods, wanted))
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("%s: %w: %w (%s)", name, ErrPods, context.Cause(ctx), c.stand(name, pods, wanted))
		}
	}
}

// failed are the pods that have ended badly and do not come back.
func failed(pods []*corev1.Pod) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodFailed {
			all[p.UID] = true
		}
	}
	return all
}

// persist remembers since when each trouble is there, and gives those that have lasted.
func persist(since map[string]time.Time, all []trouble, now time.Time) (lasts []trouble) {
	present := map[string]bool{}
	for _, t := range all {
		present[t.kind] = true
		if _, known := since[t.kind]; !known {
			since[t.kind] = now
		}
		if now.Sub(since[t.kind]) >= lasting {
			lasts = append(lasts, t)
		}
	}
	for kind := range since {
		if !present[kind] {
			delete(since, kind)
		}
	}
	return lasts
}

func texts(all []trouble) string {
	var lines []string
	for _, t := range all {
		lines = append(lines, t.text)
	}
	return strings.Join(lines, "\n")
}

// lastLines are what the first container that does not start wrote; empty: nothing.
func (c *Cluster) lastLines(ctx context.Context, pods []*corev1.Pod) string {
	lines := int64(20)
	for _, p := range pods {
		for _, s := range p.Status.ContainerStatuses {
			if s.RestartCount == 0 && s.State.Terminated == nil {
				continue
			}
			options := &corev1.PodLogOptions{Container: s.Name, TailLines: &lines, Previous: s.RestartCount > 0 && s.State.Terminated == nil}
			said, err := c.api.client.CoreV1().Pods(c.namespace).GetLogs(p.Name, options).DoRaw(ctx)
			if err == nil && len(said) > 0 {
				return "\nIts last lines:\n  " + strings.ReplaceAll(strings.TrimSpace(string(said)), "\n", "\n  ")
			}
		}
	}
	return ""
}

// stand says where the pods stand.
func (c *Cluster) stand(name string, pods []*corev1.Pod, wanted int) string {
	return count(pods, c.look.pullsOf(name), wanted)
}
