package e2e

import "testing"

// TestASmallBudgetMakesOneBackendTheBottleneck compares routes with a tenth of a CPU for each server, and with more. It
// runs alone, because other tests would take the CPU time that the larger budget allows.
func TestASmallBudgetMakesOneBackendTheBottleneck(t *testing.T) {
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		d, s := quickTry(t, "budget", try)
		s.promptly(wrong)
		elapsed := map[string]map[float64]float64{}
		for _, a := range d.Arms {
			if len(a.Errors) > 0 || a.Calls == 0 {
				t.Errorf("%s: %d requests, errors %v", a.Name, a.Calls, a.Errors)
			}
			if elapsed[a.Name] == nil {
				elapsed[a.Name] = map[float64]float64{}
			}
			elapsed[a.Name][a.Settings().Server.CPUs] = a.ElapsedMS
		}
		if one, three := elapsed["clusterip"][0.1], elapsed["headless"][0.1]; one < 1.5*three {
			wrong("with a tenth of a CPU, clusterip takes %.0f ms and headless %.0f ms, want half as much again at least", one, three)
		}
		if small, large := elapsed["clusterip"][0.1], elapsed["clusterip"][2]; small < 2*large {
			wrong("clusterip takes %.0f ms with a tenth of a CPU and %.0f ms with two, want twice as long at least", small, large)
		}
	})
}
