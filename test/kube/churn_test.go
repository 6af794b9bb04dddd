package kube

import (
	"fmt"
	"slices"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// The experiment as it is takes 46 s an arm, and scaled down 4 s, which are over before pods
// are up. The kill comes last here, so that calls which it leaves without an answer are not
// taken for those of a graceful end.
var churn = []string{
	"churn", "--quick", "--set", "load.open.rate=100", "--set", "load.open.duration=19s", "--set", "server.drain=2s", "--set", "caller.timeout=15s",
	"--set", "events=[{at: 1s, scale: 5}, {at: 11s, scale: 2}, {at: 14s, kill: 1}]",
}

func TestChurnOnKubernetes(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name    string
		args    []string
		follows bool // the scale
		loses   bool // calls, perhaps, of backends that end gracefully
	}{
		{"clusterip", []string{"--arms", "clusterip-shared"}, false, true},
		{"headless", []string{"--arms", "headless"}, false, true},
		{"endpointslice", []string{"--arms", "endpointslice"}, true, false},
		{"kuberesolver", []string{"--arms", "kuberesolver"}, true, true},
		{"xds", []string{"--arms", "endpointslice", "--set", "route=xds"}, true, false},
		{"envoy sidecar", []string{"--arms", "endpointslice", "--set", "route=envoy", "--set", "proxy.place=sidecar"}, true, true},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			trial := followed(t, way.args)
			if trial.Failed != "" || len(trial.Events) != 3 {
				t.Fatalf("%d events: %s", len(trial.Events), trial.Failed)
			}
			for _, e := range trial.Events {
				t.Logf("%s: endpoints ready %s, resolver updated %s, first call %s, balanced again %s; %d calls failed", e.What,
					after(e.Took.EndpointReady), after(e.Took.ResolverUpdated), after(e.Took.FirstCall), after(e.Took.BalanceRestored), e.Failed)
				if e.Error != "" {
					t.Errorf("%s: %s", e.What, e.Error)
				}
			}
			up, down := trial.Events[0], trial.Events[1]
			if came := up.Took.FirstCall != nil; came != way.follows {
				t.Errorf("calls reached new backends: %t; that the route follows: %t", came, way.follows)
			}
			if lost := up.Failed + down.Failed; lost > 0 && !way.loses {
				t.Errorf("%d calls failed: %v, %v", lost, up.Errors, down.Errors)
			}
			if way.follows {
				endsEven(t, trial)
			}
		})
	}
}

// followed is a trial in which the new pods were ready in time, which a machine that is
// busy with other things may miss.
func followed(t *testing.T, args []string) (trial result.Trial) {
	t.Helper()
	for range 4 {
		trial = well(t, slices.Concat(churn, args)...).Arms[0].Trials[0]
		if len(trial.Events) == 0 {
			break
		}
		if came := trial.Events[0].Took.EndpointReady; came != nil && *came < 8000 && len(trial.Backends) >= 5 {
			break
		}
		t.Logf("new pods were not ready well before the next event: %v", trial.Backends)
	}
	return trial
}

// after is a time that was seen, or was not.
func after(ms *float64) string {
	if ms == nil {
		return "not seen"
	}
	return fmt.Sprintf("after %.0f ms", *ms)
}

// endsEven holds a trial to calls that are even over ready backends in the last second in
// which those stayed as they were.
func endsEven(t *testing.T, trial result.Trial) {
	t.Helper()
	last := trial.Groups[len(trial.Groups)-1]
	if verdict.Pool([][]uint64{last}).Jain < 0.95 {
		t.Errorf("in the last second calls were %v", last)
	}
}
