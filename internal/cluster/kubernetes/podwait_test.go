package kubernetes

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
