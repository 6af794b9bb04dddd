package analysis

import (
	"testing"

	"rpclab/internal/result"
)

// What is not known in a trial is not 0.
func TestAnArmLeavesOutWhatIsNotKnown(t *testing.T) {
	arm := result.Arm{Name: "a"}
	for round := 1; round <= 5; round++ {
		one := trial(t, round, 10, 1000)
		one.Resources.Proxy, one.Wasted = result.Usage{CPU: 200, RSS: 1}, new(uint64(100))
		if round == 3 {
			one.Resources.Proxy, one.Wasted = result.Usage{}, nil
		}
		arm.Trials = append(arm.Trials, one)
	}
	if err := mergeTrials(&arm); err != nil {
		t.Fatal(err)
	}
	if cpu := arm.Resources.Proxy.CPU; cpu != 200 {
		t.Errorf("the proxies took %g µs a call, want the 200 of the four trials that know it", cpu)
	}
	if arm.Wasted != nil {
		t.Errorf("%d calls were wasted, want that it is not known", *arm.Wasted)
	}
	arm.Trials[2].Wasted = new(uint64(0))
	if err := mergeTrials(&arm); err != nil || arm.Wasted == nil || *arm.Wasted != 400 {
		t.Errorf("the wasted calls are %v (%v), want 400", arm.Wasted, err)
	}
}

// More cycles make larger groups, so a p99 of groups with too few calls does not end a run.
func TestARunContinuesForLargerGroups(t *testing.T) {
	arm := func(name string, latency float64) result.Arm {
		var all []float64
		for i := range 8 {
			all = append(all, latency*(1+0.001*float64(i%3)))
		}
		return result.Arm{Name: name, Trials: []result.Trial{inBlocks(t, 1, 1, 50, all...)}}
	}
	d := result.Document{Baseline: "b", Margin: 0.03, Design: "interleaved", Rounds: 1, Looks: []int{1, 2}, Headline: []string{"latency_p50", "latency_p99"},
		Arms: []result.Arm{arm("a", 20), arm("b", 10)}}
	if v := p50(t, Assemble(d)); v.Decision != "worse" {
		t.Fatalf("p50 is %+v, want worse", v)
	}
	if Decided(d) {
		t.Error("the run is decided, although its p99 has one group of 400 calls")
	}
}
