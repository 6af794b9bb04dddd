package kube

import (
	"fmt"
	"slices"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// churnArgs scale the experiment so that pods have time to start. The kill comes last, so that its
// failed calls are not counted for the graceful events.
var churnArgs = []string{
	"churn", "--quick", "--set", "load.open.rate=100", "--set", "load.open.duration=36s", "--set", "server.drain=2s", "--set", "caller.timeout=15s",
	"--set", "events=[{at: 1s, scale: 5}, {at: 11s, scale: 2}, {at: 14s, kill: 1}]",
}

func TestChurnOnKubernetes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		args    []string
		follows bool // new backends receive calls
		loses   bool // calls to backends that stop gracefully may fail
	}{
		{"clusterip", []string{"--arms", "clusterip-shared"}, false, true},
		{"headless", []string{"--arms", "headless"}, false, true},
		{"endpointslice", []string{"--arms", "endpointslice"}, true, false},
		{"kuberesolver", []string{"--arms", "kuberesolver"}, true, true},
		{"xds", []string{"--arms", "endpointslice", "--set", "route=xds"}, true, false},
		{"envoy sidecar", []string{"--arms", "endpointslice", "--set", "route=envoy", "--set", "proxy.place=sidecar"}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trial := runChurn(t, c.args)
			if trial.Failed != "" || len(trial.Events) != 3 {
				t.Fatalf("%d events, want 3; failure %q", len(trial.Events), trial.Failed)
			}
			for _, e := range trial.Events {
				t.Logf("%s: endpoints ready %s, resolver updated %s, first call %s, balanced again %s; %d calls failed", e.What,
					after(e.Took.EndpointReady), after(e.Took.ResolverUpdated), after(e.Took.FirstCall), after(e.Took.BalanceRestored), e.Failed)
				if e.Error != "" {
					t.Errorf("%s: %s", e.What, e.Error)
				}
			}
			up, down := trial.Events[0], trial.Events[1]
			if reached := up.Took.FirstCall != nil; reached != c.follows {
				t.Errorf("calls reached new backends: %t, want %t", reached, c.follows)
			}
			if lost := up.Failed + down.Failed; lost > 0 && !c.loses {
				t.Errorf("%d calls failed when scaling, want none: %v, %v", lost, up.Errors, down.Errors)
			}
			if c.follows {
				checkFinalBalance(t, trial)
			}
		})
	}
}

// runChurn repeats the run until new pods are ready in time, which a busy machine may miss: long before the next event
// and, in place of the one that was killed, before the end.
func runChurn(t *testing.T, args []string) (trial result.Trial) {
	t.Helper()
	for range 4 {
		trial = mustRun(t, slices.Concat(churnArgs, args)...).Arms[0].Trials[0]
		if len(trial.Events) == 0 {
			break
		}
		added, replaced := trial.Events[0].Took.EndpointReady, trial.Events[len(trial.Events)-1].Took.EndpointReady
		if added != nil && *added < 7000 && len(trial.Backends) >= 5 && replaced != nil && *replaced < 15000 {
			break
		}
		t.Logf("new pods were ready %s and %s, not long before the next event or the end: %v", after(added), after(replaced), trial.Backends)
	}
	return trial
}

// after formats a time that may be unknown.
func after(ms *float64) string {
	if ms == nil {
		return "not observed"
	}
	return fmt.Sprintf("after %.0f ms", *ms)
}

// checkFinalBalance requires balanced calls in the last second in which the ready backends did not
// change.
func checkFinalBalance(t *testing.T, trial result.Trial) {
	t.Helper()
	last := trial.Groups[len(trial.Groups)-1]
	if verdict.Pool([][]uint64{last}).Jain < 0.95 {
		t.Errorf("calls by backend in the last second are %v, want a Jain's index of at least 0.95", last)
	}
}
