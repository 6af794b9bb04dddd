package kube

import (
	"testing"

	"rpclab/internal/result"
)

func TestAKilledPodIsReplaced(t *testing.T) {
	t.Parallel()
	var trial result.Trial
	for _, length := range []string{"20s", "45s", "45s"} { // on a busy machine, pods stand still
		if trial = mustRun(t, "testdata/killed-pod.yaml", "--set", "load.open.duration="+length).Arms[0].Trials[0]; balancedAtEnd(trial) && len(trial.Backends) == 4 {
			break
		}
	}
	e := trial.Events[0]
	if len(e.Affected) != 1 || e.Error != "" {
		t.Fatalf("the event %s affected %v, want one pod; error %q", e.What, e.Affected, e.Error)
	}
	if len(trial.Lost) > 0 {
		t.Errorf("a backend that an event killed is reported as lost: %v", trial.Lost)
	}
	if len(trial.Backends) != 4 || e.Took.EndpointReady == nil || e.Took.FirstCall == nil || e.Took.BalanceRestored == nil {
		t.Fatalf("no replacement received calls: %v, %+v", trial.Backends, e.Took)
	}
	t.Logf("endpoint ready %.0f ms, first call %.0f ms, balanced again %.0f ms after the kill", *e.Took.EndpointReady, *e.Took.FirstCall, *e.Took.BalanceRestored)
	if !balancedAtEnd(trial) {
		t.Errorf("calls by backend in the last seconds are %v, want a Jain's index of at least 0.95 in three", lastSeconds(trial))
	}
}
