package lab

import (
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/route"
)

func TestAResultSaysWhichRouteNoTestCalls(t *testing.T) {
	trials := []trial{
		{Trial: experiment.Trial{Arm: "linkerd"}, route: route.Linkerd},
		{Trial: experiment.Trial{Arm: "istio"}, route: route.Istio},
	}
	for name, want := range map[string]bool{"linkerd": true, "istio": false} {
		if arm := armOf(trials, experiment.Arm{Name: name}, nil); arm.Untested != want {
			t.Errorf("arm %s: untested is %t, want %t", name, arm.Untested, want)
		}
	}
}
