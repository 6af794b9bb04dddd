package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

func TestRolloutReplacesEveryBackendAndKeepsTheirNumber(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3, Drain: 300 * time.Millisecond})
	must(t)(d.Rollout(t.Context(), nil))
	if _, err := d.Rollout(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("a second rollout at the same time returned %v, want an error: one is in progress", err)
	}
	fewest, most := 3, 3
	testkit.Await(t, "greeter-3, 4 and 5 have replaced all others", func() bool {
		now, _ := d.Endpoints().Current()
		n := len(now.Ready())
		fewest, most = min(fewest, n), max(most, n)
		return slices.Equal(ids(now.Endpoints), []string{"greeter-3", "greeter-4", "greeter-5"})
	})
	if fewest < 3 || most > 4 {
		t.Errorf("between %d and %d backends were ready; 3 to 4 are allowed", fewest, most)
	}
	if failures := d.Failures(); len(failures) != 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
	if _, err := d.Rollout(t.Context(), nil); err != nil {
		t.Errorf("a second rollout after the first: %v", err)
	}
	testkit.Await(t, "the second rollout has replaced every backend", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-6", "greeter-7", "greeter-8"}) })
}

// The crash of an old backend takes the place of its end by the rollout.
func TestABackendThatCrashesDuringARolloutLeavesNoneTooMany(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open") // without it, a new backend does not become ready, and the rollout ends no old one
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server := []string{"sh", "-c", fmt.Sprintf(`while [ ! -e '%s' ]; do sleep 0.05; done; exec "$0" server "$@"`, open), testkit.Rpclab(t)}
	d := deploy(t, newCluster(t, local.Options{Server: server}), cluster.Spec{Replicas: 3})
	if err := os.Remove(open); err != nil {
		t.Fatal(err)
	}
	must(t)(d.Rollout(t.Context(), nil))
	testkit.Await(t, "the first new backend starts", func() bool { return len(processes(d)) == 4 })
	if err := syscall.Kill(processes(d)["greeter-0"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the crash is noticed", func() bool { return len(d.Failures()) == 1 })
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitBackends(t, d, "greeter-3", "greeter-4", "greeter-5")
	if failures := d.Failures(); len(failures) != 1 || !strings.Contains(failures[0], "greeter-0 exited unexpectedly") {
		t.Errorf("the failures are %q, want the crash of greeter-0", failures)
	}
}

// Scaling down ends the newest backend, which is the one that the rollout starts.
func TestARolloutContinuesWhenScalingDownEndsItsNewBackend(t *testing.T) {
	t.Parallel()
	slow := []string{"sh", "-c", `sleep 1; exec "$0" server "$@"`, testkit.Rpclab(t)}
	d := deploy(t, newCluster(t, local.Options{Server: slow}), cluster.Spec{Replicas: 3})
	must(t)(d.Rollout(t.Context(), nil))
	testkit.Await(t, "the first new backend starts", func() bool { return len(processes(d)) == 4 })
	if left := must(t)(d.Scale(t.Context(), 2)); !slices.Contains(left, "greeter-3") {
		t.Errorf("scaling down ends %v, want greeter-3 among them", left)
	}
	testkit.Await(t, "two new backends are ready", func() bool {
		now, _ := d.Endpoints().Current()
		old := slices.ContainsFunc(now.Endpoints, func(e cluster.Endpoint) bool { return e.ID < "greeter-3" })
		return len(now.Ready()) == 2 && len(processes(d)) == 2 && !old
	})
	if failures := d.Failures(); len(failures) != 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
}

// processes are the ids of the backends' processes by identity.
func processes(d cluster.Deployment) map[string]int {
	pids := map[string]int{}
	for _, p := range d.(cluster.LocalProcesses).Processes() {
		pids[p.Name] = p.PID
	}
	return pids
}

func TestRolloutEndsWhenANewBackendDoesNotStart(t *testing.T) {
	t.Parallel()
	// The first two servers start, later servers do not.
	program := `case "$*" in *greeter-[01]*) exec "$0" server "$@";; *) echo no licence >&2; exit 9;; esac`
	d := deploy(t, newCluster(t, local.Options{Server: []string{"sh", "-c", program, testkit.Rpclab(t)}}), cluster.Spec{Replicas: 2})
	must(t)(d.Rollout(t.Context(), nil))
	testkit.Await(t, "the rollout has ended", func() bool {
		return strings.Contains(strings.Join(d.Failures(), "\n"), "ended before all backends were replaced")
	})
	if failures := strings.Join(d.Failures(), "\n"); !strings.Contains(failures, "no licence") {
		t.Errorf("the failures are %s, want the log line no licence", failures)
	}
	if got := ids(ready(d)); !slices.Equal(got, []string{"greeter-0", "greeter-1"}) {
		t.Errorf("ready are %v, want the old backends greeter-0 and greeter-1", got)
	}
}

func TestCloseDuringARolloutLeavesNoProcess(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 3, Drain: time.Minute})
	must(t)(d.Rollout(t.Context(), nil))
	testkit.Await(t, "a backend terminates while another starts", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) > 3 })
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("Close took %v, want 30 s at most", took)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
