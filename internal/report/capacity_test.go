package report

import (
	"testing"

	"rpclab/internal/result"
)

// A round in which not even the lowest rate held is worse than those in which a rate did.
func TestARoundInWhichNoRateHoldsIsTheWorst(t *testing.T) {
	for missed, want := range []string{"1,960", none} {
		a := search().Arms[0]
		for i := range missed {
			a.Trials[i].Capacity.Holds, a.Trials[i].Capacity.Rate, a.Trials[i].Capacity.End = 0, 0, "from fails"
		}
		if row := capacityRow(a); row[3] != want {
			t.Errorf("with %d of 4 rounds without a rate: holds %q, want %q", missed, row[3], want)
		}
	}
}

// broken is a search that was interrupted before it had an estimate.
func broken() result.Document {
	d := search()
	d.Partial, d.Verdicts, d.TrialCount = true, nil, 4
	d.Arms = d.Arms[:1]
	a := &d.Arms[0]
	a.Measures, a.Capacity, a.Trials = result.Measures{}, &result.Capacities{}, a.Trials[:1]
	c := *a.Trials[0].Capacity
	c.Rate, c.Holds, c.Fails, c.End, c.Probes = 0, 0, 0, "interrupted", c.Probes[:2]
	a.Trials[0] = result.Trial{Round: 1, Failed: "interrupted after 2 probes", Capacity: &c}
	return d
}

// search is a run of searches: one arm with a bracket in each round, one that the load generator
// limited, and one that met its objective at every rate.
func search() result.Document {
	w := sampleArms()
	d := small(4, w[1], w[2], w[3])
	d.Question = "How many calls a second does each route sustain?"
	found := []float64{1980, 2013, 2004, 1995}
	for i := range d.Arms {
		a := &d.Arms[i]
		for r := range a.Trials {
			c := result.Capacity{SLO: "p99 < 50ms and errors < 0.1%", Holds: 5000}
			switch i {
			case 0:
				c.Rate, c.Holds, c.Fails, c.End = found[r], found[r]*0.99, found[r]*1.01, "found"
			case 1:
				c.End = "generator"
			case 2:
				c.End = "to holds"
			}
			c.Probes = []result.Probe{
				{Rate: 100, DurationMS: 1250, Held: true, Calls: 125, P50: 5.1, P99: 7.2, Lateness: 0.1},
				{Rate: 12800, DurationMS: 1250, Calls: 9000, Errors: 5210, Dropped: 7000, P50: 900, P99: 2400, Lateness: 0.3},
				{Rate: c.Holds, DurationMS: 5000, Full: true, Held: true, Calls: 10000, P50: 9, P99: 41, Lateness: 0.1},
			}
			if i == 1 {
				c.Probes = append(c.Probes, result.Probe{Rate: 5100, DurationMS: 5000, Full: true, Calls: 25500, P50: 9, P99: 71,
					Limited: "rpclab sent calls up to 21.0 ms late (p99) at a latency of 71.0 ms", Lateness: 21})
			}
			a.Trials[r].Capacity = &c
		}
		a.Capacity = &result.Capacities{}
	}
	d.Arms[0].Capacity = &result.Capacities{Rate: 1998, Low: 1980, High: 2013, Count: 4}
	d.Arms[0].Trials[3].Capacity.End = "used up"
	d.Arms[1].Limited = "at 5100/s rpclab sent calls up to 21.0 ms late (p99) at a latency of 71.0 ms"
	more := verdict("capacity", w[2].name, nil, 1.4, 1.31, 1.52, "better", "baseline")
	open := verdict("capacity", w[3].name, nil, 0, 0, 0, "undecided", "baseline")
	open.CI, open.Reason, open.Cause = [2]float64{}, "in 4 of 4 rounds one of the arms has no value", &result.Cause{Kind: result.CauseValue}
	d.Verdicts = []result.Verdict{more, open, secondaryVerdict("client_cpu", w[2].name, nil, 0.8, "better")}
	return d
}
