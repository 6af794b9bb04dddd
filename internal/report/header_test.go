package report

import (
	"testing"

	"rpclab/internal/result"
)

func TestTheHeadNamesTheMostRoundsOfARunUntilDecided(t *testing.T) {
	trials := func(n int) []result.Arm { return []result.Arm{{Trials: make([]result.Trial, n)}} }
	for _, c := range []struct {
		d    result.Document
		want string
	}{
		{result.Document{Rounds: 5, TrialCount: 5, Arms: trials(5)}, "5 rounds, 5 trials"},
		{result.Document{Rounds: 5, TrialCount: 5, Arms: trials(3)}, "5 rounds, 3 of 5 trials"},
		{result.Document{Rounds: 1, TrialCount: 5, Design: "isolated", Arms: trials(5)}, "1 isolated round, 5 trials"},
		{result.Document{Rounds: 5, TrialCount: 5, Design: "side-by-side", Arms: trials(5)}, "5 side-by-side rounds, 5 trials"},
		{result.Document{Rounds: 9, TrialCount: 9, Design: "isolated", Looks: []int{4, 6, 9}, Arms: trials(5), Partial: true}, "until decided, in 9 isolated rounds at most, 5 of 9 trials"},
		{result.Document{Rounds: 6, TrialCount: 6, Looks: []int{4, 6, 9}, Arms: trials(6)}, "6 rounds (until decided, of 9 at most), 6 trials"},
		{result.Document{Rounds: 6, TrialCount: 7, Looks: []int{4, 6, 9}, Arms: trials(6)}, "6 rounds (until decided, of 9 at most), 6 of 7 trials"}, // one failed
		{result.Document{Rounds: 9, TrialCount: 9, Looks: []int{4, 6, 9}, Arms: trials(9)}, "9 rounds (until decided, of 9 at most), 9 trials"},
		{result.Document{Rounds: 9, TrialCount: 9, Looks: []int{4, 6, 9}, Arms: trials(5), Partial: true}, "until decided, in 9 rounds at most, 5 of 9 trials"},
		{result.Document{Rounds: 6, TrialCount: 6, Looks: []int{4, 8}, TimeLimitMS: 120_000, Ended: result.EndedTime, Arms: trials(6)}, "6 rounds (until the time limit of 2 min), 6 trials"},
		{result.Document{Rounds: 4, TrialCount: 4, Looks: []int{4, 8}, TimeLimitMS: 120_000, Ended: result.EndedDecided, Arms: trials(4)}, "4 rounds (until decided, in 2 min at most), 4 trials"},
		{result.Document{Rounds: 6, TrialCount: 6, Quick: true, TimeLimitMS: 60_000, Ended: result.EndedTime, Arms: trials(6)}, "6 rounds (until the time limit of 60 s), 6 trials"},
		{result.Document{Rounds: 6, TrialCount: 6, Quick: true, TimeLimitMS: 60_000, Ended: result.EndedRounds, Arms: trials(6)}, "6 rounds, 6 trials"},
		{result.Document{Rounds: 900, TrialCount: 900, Looks: []int{4, 8}, TimeLimitMS: 120_000, Arms: trials(5), Partial: true}, "until decided, in 2 min at most, 5 trials"},
	} {
		if got := progress(c.d); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestTheMachineNamesTheVersionsOfProxies(t *testing.T) {
	m := result.Machine{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26.0", Tools: map[string]string{"nginx": "1.26.3", "envoy": "1.40.0"}}
	if got, want := Machine(m), "linux/amd64, 2 CPUs, go1.26.0, envoy 1.40.0, nginx 1.26.3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// After two rounds almost any ratio is possible.
func TestExtremeRatiosAreShownAsBounds(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.0001: "<0.001", 0.00163: "0.0016", 1.234: "1.23", 12.34: "12.3", 12345: "12,345", 8.7e23: ">999,999"} {
		if got := ratio(v); got != want {
			t.Errorf("ratio(%g) = %q, want %q", v, got, want)
		}
	}
}

// The machine that rpclab runs on is not part of the cluster.
func TestARunOnKubernetesNamesTheClustersNodes(t *testing.T) {
	m := result.Machine{OS: "darwin", Arch: "arm64", CPUs: 12, Go: "go1.26.0", Kubernetes: "v1.34.4", Tools: map[string]string{"envoy": "1.40.0"}}
	if got, want := Machine(m), "kubernetes v1.34.4, envoy 1.40.0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	small := result.Node{OS: "linux", Arch: "amd64", CPUs: 4, Memory: 16_800_000_000}
	alike := small
	alike.Memory += 1000
	m.Nodes = []result.Node{small, {OS: "linux", Arch: "arm64", CPUs: 8}, alike}
	if got, want := Machine(m), "kubernetes v1.34.4, 3 nodes (1 of 8 CPUs, linux/arm64; 2 of 4 CPUs, 17 GB, linux/amd64), envoy 1.40.0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
