package result

import (
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 20, 18, 45, 12, 0, time.UTC)

// histogram records the values, in milliseconds.
func histogram(t *testing.T, ms ...float64) Histogram {
	t.Helper()
	h := hdr.NewPacked(1, int64(time.Hour), 3)
	for _, v := range ms {
		if err := h.RecordValue(int64(v * 1e6)); err != nil {
			t.Fatal(err)
		}
	}
	return FromHDR(h)
}

func sampleTrial(t *testing.T, round int) Trial {
	updated := 12.5
	return Trial{
		Round: round, Order: round - 1, Started: start.Add(time.Duration(round) * time.Second),
		Measures: Measures{
			Calls: 3, Errors: map[string]uint64{"UNAVAILABLE": 1}, ElapsedMS: 512, Rate: 5.9,
			Latency: histogram(t, 500, 501, 510), Backends: map[string]uint64{"greeter-1": 3, "greeter-2": 0},
			Balance: Balance{Jain: 0.5, MaxOverMean: 2, PRandom: 0.25},
			Samples: map[string]string{"UNAVAILABLE": "connection refused"},
		},
		Timeline: &Timeline{IntervalMS: 100, Backends: map[string][]uint64{"greeter-1": {1, 2}}, Errors: []uint64{0, 1}, Late: []uint64{1}, Ready: []int{2, 2}},
		Events:   []Event{{AtMS: 100, What: "kill 1", Took: Took{ResolverUpdated: &updated}, Failed: 1}},
	}
}

func sampleDocument(t *testing.T) Document {
	finished := start.Add(time.Minute)
	trial := sampleTrial(t, 1)
	return Document{
		Schema: Schema, ID: "20261120-184512-x7k2", Experiment: "channels", Question: "One channel, or many?",
		Cluster: "local", Started: start, Finished: &finished, Rounds: 1, Seed: 7, Baseline: "shared", TrialCount: 1,
		Machine: Machine{OS: "linux", Arch: "amd64", CPUs: 8, Go: "go1.26"},
		Arms: []Arm{{
			Name: "shared", Route: "clusterip", Channel: "shared", Cell: Cell{"load.burst": 1000},
			Config: map[string]any{"route": "clusterip"}, Measures: trial.Measures, Trials: []Trial{trial},
		}},
		Verdicts: []Verdict{{
			Metric: "latency_p50", A: "shared-again", B: "shared", Cell: Cell{"load.burst": 1000},
			Ratio: 1, CI: [2]float64{0.9, 1.1}, Decision: "undecided", Rounds: 1, Reason: "1 round; at least 4 are needed", Kind: "control",
			Cause: &Cause{Kind: CauseRounds, Have: 1, Needed: 4},
		}},
	}
}

// oneTrial is an arm with one trial.
func oneTrial(arm Arm, t Trial) Arm {
	arm.Trials = []Trial{t}
	return arm
}
