package local_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

func TestARolloutReplacesEveryBackendAndKeepsTheWantedNumber(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3, Drain: 300 * time.Millisecond})
	hit(t)(d.Rollout(t.Context()))
	if _, err := d.Rollout(t.Context()); err == nil || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("a second rollout at the same time: %v", err)
	}
	fewest, most := 3, 3
	testkit.Await(t, "greeter-3, 4 and 5 are ready, the old ones gone", func() bool {
		now, _ := d.Endpoints().Current()
		n := len(now.Ready())
		fewest, most = min(fewest, n), max(most, n)
		return slices.Equal(ids(now.Endpoints), []string{"greeter-3", "greeter-4", "greeter-5"})
	})
	if fewest < 3 || most > 4 {
		t.Errorf("between %d and %d backends were ready; 3 to 4 are allowed", fewest, most)
	}
	if lost := d.Failures(); len(lost) != 0 {
		t.Errorf("losses: %q", lost)
	}
	if _, err := d.Rollout(t.Context()); err != nil {
		t.Errorf("a second rollout, later: %v", err)
	}
	testkit.Await(t, "it is done too", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-6", "greeter-7", "greeter-8"}) })
}

func TestARolloutEndsAtAReplacementThatCannotStart(t *testing.T) {
	// The first two start, later ones do not.
	program := `case "$*" in *greeter-[01]*) exec "$0" server "$@";; *) echo no licence >&2; exit 9;; esac`
	d := deploy(t, newCluster(t, local.Options{Server: []string{"sh", "-c", program, testkit.Rpclab(t)}}), cluster.Spec{Replicas: 2})
	hit(t)(d.Rollout(t.Context()))
	testkit.Await(t, "it is over", func() bool {
		return strings.Contains(strings.Join(d.Failures(), "\n"), "ended before all backends were replaced")
	})
	if lost := strings.Join(d.Failures(), "\n"); !strings.Contains(lost, "no licence") {
		t.Errorf("losses: %s", lost)
	}
	if got := ids(ready(d)); !slices.Equal(got, []string{"greeter-0", "greeter-1"}) {
		t.Errorf("ready are %v; the old ones stay", got)
	}
}

func TestARolloutThatIsInterruptedLeavesNoProcess(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 3, Drain: time.Minute})
	hit(t)(d.Rollout(t.Context()))
	testkit.Await(t, "one is on its way out, another starts", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) > 3 })
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
