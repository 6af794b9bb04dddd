package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/pace"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// searchCapacity makes the loads of a search, one after another. The trial that it returns has the
// measures of the full-length probe at the lower end of the bracket. After an interrupt it has the probes
// that have ended. load makes one load and returns a trial with its measures; searchCapacity calls
// report with the name of each probe before its load.
func searchCapacity(ctx context.Context, t experiment.Trial, measured result.Trial,
	load func(context.Context, loadRequest) (result.Trial, error), report func(step string)) (result.Trial, error) {
	wanted := *t.Config.Load.Search
	slo, err := t.Config.ParseSLO()
	if err != nil {
		return measured, err
	}
	held := map[float64]result.Trial{} // full-length probes by rate
	var probes []result.Probe
	var during result.Trial // what happened during all probes
	s := search.New(searchPlan(wanted, t.Seed))
	for p, more := s.Next(); more; p, more = s.Next() {
		report(fmt.Sprintf("probe %d at %.4g/s", len(probes)+1, p.Rate))
		seen, err := load(ctx, probeLoad(wanted, p, experiment.DeriveSeed(t.Seed, strconv.Itoa(len(probes)))))
		during = analysis.AddProbe(during, seen)
		seen.MachineWarnings, seen.Lost = during.MachineWarnings, during.Lost
		if err != nil || seen.Failed != "" {
			found := capacity(wanted.SLO, s.Bracket(), probes)
			if ctx.Err() != nil {
				found.End = string(search.Interrupted)
				return analysis.SummarizeSearch(seen, found), err
			}
			seen.Capacity = &found
			return seen, err
		}
		limited := analysis.ProbeLimit(seen, slo, p.Duration)
		outcome := outcomeOf(len(slo.Check(seen.Measures)) == 0, limited)
		s.Record(p, outcome)
		probes = append(probes, probeOf(p, outcome, limited, seen))
		if p.Full && outcome == search.Held {
			held[p.Rate] = seen
		}
	}
	bracket := s.Bracket()
	if best, ok := held[bracket.Holds]; ok {
		measured = best
	}
	measured.Machine, measured.MachineWarnings, measured.Lost = during.Machine, during.MachineWarnings, during.Lost
	return analysis.SummarizeSearch(measured, capacity(wanted.SLO, bracket, probes)), nil
}

// searchPlan starts at a random rate between the lowest rate and twice that. If every search started
// at the same rate, all would find the same bracket and their interval would be too narrow.
func searchPlan(wanted experiment.Search, seed uint64) search.Plan {
	octave := rand.New(rand.NewPCG(experiment.DeriveSeed(seed, "start"), 0)).Float64()
	return search.Plan{
		From: wanted.From, To: wanted.To, Start: wanted.From * math.Exp2(octave),
		Precision: float64(wanted.Precision) / 100, Duration: wanted.Duration,
	}
}

func capacity(slo string, b search.Bracket, probes []result.Probe) result.Capacity {
	return result.Capacity{SLO: slo, Rate: b.Rate, Holds: b.Holds, Fails: b.Fails, End: string(b.End), Probes: probes}
}

// probeLoad returns the load of a probe. Calls have as long as a full-length probe to end; after that
// the caller cancels them, so that an overload does not affect the next probe.
func probeLoad(wanted experiment.Search, p search.Probe, seed uint64) loadRequest {
	return loadRequest{
		Pace: pace.Spec{Rate: &pace.Rate{
			PerSecond: p.Rate, Duration: p.Duration, Max: wanted.MaxInFlight, Poisson: wanted.Arrivals == "poisson", Seed: seed,
		}},
		Limit: p.Duration + wanted.Duration,
	}
}

// outcomeOf returns the outcome of a probe. A probe holds or fails only if the load generator was not the
// bottleneck.
func outcomeOf(met bool, limited string) search.Outcome {
	switch {
	case limited != "":
		return search.Limited
	case met:
		return search.Held
	}
	return search.Failed
}

func probeOf(p search.Probe, outcome search.Outcome, limited string, t result.Trial) result.Probe {
	return result.Probe{
		Rate: p.Rate, DurationMS: result.Milliseconds(p.Duration), Full: p.Full, Held: outcome == search.Held, Limited: limited,
		Calls: t.Calls, Errors: t.Measures.Failed(), Dropped: t.Dropped,
		P50: t.Latency.P50, P99: t.Latency.P99, Lateness: t.Lateness.P99,
	}
}
