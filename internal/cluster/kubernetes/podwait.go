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

// podsTimeout is how long pods may take without a problem, such as for a large image. A server of the user has its
// ready timeout in addition.
const podsTimeout = 5 * time.Minute

// ErrPods says that pods did not become ready.
var ErrPods = errors.New("pods are not ready")

// awaitPods returns when done says so; done is called at every change in the namespace. A
// problem of the pods of this name that persists ends the wait, and so does the limit.
func (r *run) awaitPods(ctx context.Context, name string, wanted int, limit time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready after %s", limit))
	defer cancel()
	since := map[string]time.Time{}          // problems, by kind
	before := failed(r.watcher.podsOf(name)) // replaced by others
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		changed := r.watcher.change()
		if ok, err := done(); ok || err != nil {
			return err
		}
		pods := slices.DeleteFunc(r.watcher.podsOf(name), func(pod *corev1.Pod) bool { return before[pod.UID] })
		states := countStates(pods, r.watcher.pullsOf(name), wanted)
		problems := r.problems(name, pods, wanted)
		if persistent := persisting(since, problems, time.Now()); len(persistent) > 0 {
			return fmt.Errorf("%s: %w (%s):\n%s%s", name, ErrPods, states, texts(persistent), r.lastLines(ctx, pods))
		}
		r.progress(strings.Join(append([]string{name + ": " + states}, firstLines(problems)...), "; "))
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return ctx.Err()
			}
			text := ""
			if present := r.problems(name, pods, wanted); len(present) > 0 {
				text = ":\n" + texts(present)
			}
			return fmt.Errorf("%s: %w: %w (%s)%s", name, ErrPods, context.Cause(ctx), states, text)
		}
	}
}

// failed are the pods that failed and do not restart.
func failed(pods []*corev1.Pod) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodFailed {
			all[pod.UID] = true
		}
	}
	return all
}

// problems diagnoses pods of a deployment or of callers, of which there should be a number.
func (r *run) problems(name string, pods []*corev1.Pod, wanted int) []problem {
	pulls := r.watcher.pullsOf(name)
	warnings := current(pods, r.watcher.warningsOf(name), pulls, wanted)
	return diagnose(pods, slices.Concat(warnings, pulls, r.watcher.scaleUpsOf(name)), r.namespace)
}

// persisting notes when each problem began, and returns those that persist.
func persisting(since map[string]time.Time, all []problem, now time.Time) (persistent []problem) {
	present := map[string]bool{}
	for _, found := range all {
		present[found.kind] = true
		if _, known := since[found.kind]; !known {
			since[found.kind] = now
		}
		if !found.repairing && now.Sub(since[found.kind]) >= found.patience() {
			persistent = append(persistent, found)
		}
	}
	for kind := range since {
		if !present[kind] {
			delete(since, kind)
		}
	}
	return persistent
}

// texts joins the texts of problems, one on each line.
func texts(all []problem) string {
	var lines []string
	for _, found := range all {
		lines = append(lines, found.text)
	}
	return strings.Join(lines, "\n")
}

// firstLines are the first lines of the texts of problems, without remedies.
func firstLines(all []problem) (lines []string) {
	for _, found := range all {
		line, _, _ := strings.Cut(found.text, "\n")
		lines = append(lines, line)
	}
	return lines
}

// lastLines are the last log lines of the first container that has exited, or else that runs and is not ready.
func (r *run) lastLines(ctx context.Context, pods []*corev1.Pod) string {
	if lines := r.linesOf(ctx, pods, func(status corev1.ContainerStatus) bool {
		return status.RestartCount > 0 || status.State.Terminated != nil
	}); lines != "" {
		return lines
	}
	return r.linesOf(ctx, pods, func(status corev1.ContainerStatus) bool { return !status.Ready && status.State.Running != nil })
}

// linesOf are the last log lines of the first of these containers that has a log.
func (r *run) linesOf(ctx context.Context, pods []*corev1.Pod, wanted func(corev1.ContainerStatus) bool) string {
	count := int64(20)
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			if !wanted(status) {
				continue
			}
			options := &corev1.PodLogOptions{Container: status.Name, TailLines: &count, Previous: status.RestartCount > 0 && status.State.Terminated == nil}
			log, err := r.api.client.CoreV1().Pods(r.namespace).GetLogs(pod.Name, options).DoRaw(ctx)
			if err == nil && len(log) > 0 {
				return "\nIts last lines:\n  " + strings.ReplaceAll(strings.TrimSpace(string(log)), "\n", "\n  ")
			}
		}
	}
	return ""
}
