package kubernetes

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// A server that needs longer than pods take without a problem has its server.timeout.
func TestPodsHaveTheTimeThatTheirServerNeeds(t *testing.T) {
	slow := cluster.Spec{Replicas: 1, Program: &cluster.Program{Image: "orders:1", ReadyTimeout: 8 * time.Minute}}
	for _, c := range []struct {
		name  string
		spec  cluster.Spec
		needs time.Duration
		fails string
	}{
		{"a slow server", slow, 12 * time.Minute, ""},
		{"a slow server that never starts", slow, time.Hour, "not ready after 13m0s"},
		{"rpclab's own server", cluster.Spec{Replicas: 1}, 12 * time.Minute, "not ready after 5m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watcher, _ := watcherOf(backendPod("greeter-1-a", 1))
				watcher.events = eventsOf()
				r := &run{watcher: watcher, progress: func(string) {}}
				start := time.Now()
				err := r.awaitPods(t.Context(), "greeter-1", 1, startTimeout(c.spec), func() (bool, error) { return time.Since(start) >= c.needs, nil })
				if (err == nil) != (c.fails == "") || err != nil && (!errors.Is(err, ErrPods) || !strings.Contains(err.Error(), c.fails)) {
					t.Errorf("after %s: %v, want %q", time.Since(start), err, c.fails)
				}
			})
		})
	}
}

// A problem that may end, as when an autoscaler adds a node, is shown while the run waits.
func TestTheProgressSaysWhyPodsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := backendPod("greeter-1-a", 1)
		pending.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available",
		}}}
		watcher, _ := watcherOf(pending)
		watcher.events = eventsOf()
		var lines []string
		r := &run{watcher: watcher, progress: func(line string) { lines = append(lines, line) }}
		start := time.Now()
		err := r.awaitPods(t.Context(), "greeter-1", 1, podsTimeout, func() (bool, error) { return time.Since(start) > 20*time.Second, nil })
		want := "greeter-1: 0 of 1 pods ready, 1 pending; no node fits pod greeter-1-a: 0/2 nodes are available"
		if err != nil || len(lines) == 0 || lines[0] != want {
			t.Errorf("%v, and the progress is %q, want %q", err, lines, want)
		}
	})
}
