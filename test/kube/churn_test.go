package kube

import (
	"fmt"
	"slices"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// churnArgs scale the experiment so that pods have so many times 10 s to start. The kill comes last, so that its
// failed calls are not counted for the graceful events.
func churnArgs(factor int) []string {
	return []string{
		"churn", "--quick", "--set", "load.open.rate=100", "--set", fmt.Sprintf("load.open.duration=%ds", 6+30*factor),
		"--set", "server.drain=2s", "--set", "caller.timeout=15s",
		"--set", fmt.Sprintf("events=[{at: 1s, scale: 5}, {at: %ds, scale: 2}, {at: %ds, kill: 1}]", 1+10*factor, 4+10*factor),
	}
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
			trial := runChurn(t, c.follows, c.args)
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
			if c.follows && !balancedAtEnd(trial) {
				t.Errorf("calls by backend in the last seconds are %v, want a Jain's index of at least 0.95 in three", lastSeconds(trial))
			}
		})
	}
}

// runChurn repeats the run with more time until new pods are ready in time, which a busy machine may miss: long before
// the next event and, in place of the one that was killed, before the end. Routes that follow end balanced, unless pods
// stand still.
func runChurn(t *testing.T, follows bool, args []string) (trial result.Trial) {
	t.Helper()
	for _, factor := range []int{1, 2, 4} {
		trial = mustRun(t, slices.Concat(churnArgs(factor), args)...).Arms[0].Trials[0]
		if len(trial.Events) == 0 {
			break
		}
		added, replaced := trial.Events[0].Took.EndpointReady, trial.Events[len(trial.Events)-1].Took.EndpointReady
		if added != nil && *added < float64(7000*factor) && len(trial.Backends) >= 5 && replaced != nil && *replaced < float64(15000*factor) &&
			(!follows || balancedAtEnd(trial)) {
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

// lastSeconds are the calls by backend in each of the last five seconds in which the ready backends did not change.
func lastSeconds(trial result.Trial) [][]uint64 { return trial.Groups[max(0, len(trial.Groups)-5):] }

// balancedAtEnd reports whether the calls of three of these seconds are balanced. On a busy machine, a pod may stand
// still in the others.
func balancedAtEnd(trial result.Trial) bool {
	last := lastSeconds(trial)
	balanced := 0
	for _, calls := range last {
		total := uint64(0)
		for _, n := range calls {
			total += n
		}
		if len(calls) > 1 && total >= 50 && verdict.Assess(calls).Jain >= 0.95 {
			balanced++
		}
	}
	return balanced > 0 && balanced >= min(3, len(last))
}
