package analysis

import (
	"testing"

	"rpclab/internal/result"
)

// Cycles whose ratio is correlated with that of their neighbours decide nothing, although as many independent
// rounds would.
func TestVerdictsOfArmsThatTakeTurnsAllowForNeighbours(t *testing.T) {
	arm := func(name string, latencies ...float64) result.Arm {
		return result.Arm{Name: name, Trials: []result.Trial{inBlocks(t, 1, 1, 300, latencies...)}}
	}
	d := result.Document{Baseline: "b", Arms: []result.Arm{
		arm("a", 10, 10, 10.1, 10.2, 10.4, 10.6, 10.9, 11.1, 11.2, 11.2, 11.3, 11.3),
		arm("b", 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
		arm("c", 10, 10.1, 10, 9.9, 10, 10.1, 10, 10, 9.9, 10, 10.1, 10),
	}}
	v := verdictOn(d, metrics[0], comparison{d.Arms[0], d.Arms[1], "baseline"}, d.Arms[2:], 1)
	if v.Decision != "undecided" || v.Cause == nil || !v.Cause.Groups || v.Rounds != 12 || v.CI[0] > 1 {
		t.Errorf("the verdict is %+v with the cause %+v, want it undecided because of its interval of 12 groups of cycles", v, v.Cause)
	}
}
