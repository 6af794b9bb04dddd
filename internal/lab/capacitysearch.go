package lab

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
	"rpclab/internal/result/condition"
)

// searchCapacity runs the probes of a search, one after another on the same callers. The
// trial has the measures of the full-length probe at the highest rate that held. An
// interrupt keeps the probes that have ended.
func searchCapacity(ctx context.Context, l loader, measured result.Trial) (result.Trial, error) {
	t := l.trial
	wanted := t.Config.Load.Search
	slo, err := condition.Parse(wanted.SLO)
	if err != nil {
		return measured, err
	}
	found := &result.Capacity{SLO: wanted.SLO}
	best, rate := measured, 0.0
	s := search.New(searchPlan(*wanted, t.Seed))
	for p, more := s.Next(); more; p, more = s.Next() {
		l.progress.doing(t.Trial, fmt.Sprintf("probe %d at %.4g/s", len(found.Probes)+1, p.Rate))
		seen, err := l.load(ctx, measured, probeLoad(*wanted, p, experiment.Seed(t.Seed, strconv.Itoa(len(found.Probes)))))
		if err != nil || seen.Failed != "" {
			setBracket(found, s.Bracket())
			seen.Capacity = found
			if ctx.Err() != nil {
				found.End = "interrupted"
				seen.Failed = fmt.Sprintf("interrupted after %d probes", len(found.Probes))
			}
			return seen, err
		}
		held := len(slo.Check(objective(seen.Measures))) == 0
		s.Record(p, outcomeOf(held, seen.Limited))
		found.Probes = append(found.Probes, probeOf(p, held, seen))
		if p.Full && held && p.Rate > rate {
			best, rate = seen, p.Rate
		}
	}
	setBracket(found, s.Bracket())
	best.Capacity, best.Limited, best.Failed = found, "", ""
	if found.End == string(search.GeneratorLimited) {
		best.Limited = generatorLimit(found.Probes)
	}
	if found.Holds == 0 {
		best.Failed = "no rate was found at which " + wanted.SLO + " holds: " + map[search.End]string{
			search.LowestFails:      "not even " + perSecond(wanted.From) + ", the lowest; lower load.search.from, or ask for less",
			search.GeneratorLimited: "the generator was the limit " + best.Limited + "; lower load.search.from, or use a faster machine",
			search.OutOfProbes:      fmt.Sprintf("%d probes were too few; make load.search.duration longer", len(found.Probes)),
		}[search.End(found.End)]
	}
	return best, nil
}

// searchPlan starts within an octave above the lowest rate, at random. If every search started
// at the same rate, all would find the same bracket and their interval would be too narrow.
func searchPlan(wanted experiment.Search, of uint64) search.Plan {
	octave := rand.New(rand.NewPCG(experiment.Seed(of, "start"), 0)).Float64()
	return search.Plan{
		From: wanted.From, To: wanted.To, Start: wanted.From * math.Exp2(octave),
		Precision: float64(wanted.Precision) / 100, Duration: wanted.Duration,
	}
}

func setBracket(c *result.Capacity, b search.Bracket) {
	c.Rate, c.Holds, c.Fails, c.End = b.Rate(), b.Holds, b.Fails, string(b.End)
}

// probeLoad waits for the calls of a probe as long as a full-length probe lasts. Calls in flight
// after that are cancelled, so that an overload does not affect the next probe.
func probeLoad(wanted experiment.Search, p search.Probe, seed uint64) loadOrder {
	return loadOrder{
		Pace: pace.Spec{Rate: &pace.Rate{
			PerSecond: p.Rate, Duration: p.Duration, Max: wanted.MaxInFlight, Poisson: wanted.Arrivals == "poisson", Seed: seed,
		}},
		Limit: p.Duration + wanted.Duration,
	}
}

// objective are the measures that the SLO is checked on: a dropped call counts as failed.
func objective(m result.Measures) result.Measures {
	if m.Dropped > 0 {
		m.Errors = maps.Clone(m.Errors)
		m.Errors["DROPPED"] += m.Dropped
	}
	return m
}

// outcomeOf does not count it against the servers that the load generator was the bottleneck.
// Where the objective held all the same, the bottleneck does not matter.
func outcomeOf(held bool, limited string) search.Outcome {
	switch {
	case held:
		return search.Held
	case limited != "":
		return search.Limited
	}
	return search.Failed
}

func probeOf(p search.Probe, held bool, t result.Trial) result.Probe {
	probe := result.Probe{
		Rate: p.Rate, DurationMS: result.Milliseconds(p.Duration), Full: p.Full, Held: held,
		Calls: t.Calls, Errors: t.Measures.Failed(), Dropped: t.Dropped,
		P50: t.Latency.P50, P99: t.Latency.P99, Lateness: t.Lateness.P99,
	}
	if !held {
		probe.Limited = t.Limited
	}
	return probe
}

// generatorLimit says at which full-length probe the load generator was the bottleneck.
func generatorLimit(probes []result.Probe) string {
	text, least := "", 0.0
	for _, p := range probes {
		if p.Full && p.Limited != "" && (text == "" || p.Rate < least) {
			text, least = fmt.Sprintf("at %s %s", perSecond(p.Rate), p.Limited), p.Rate
		}
	}
	return text
}

func perSecond(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) + "/s" }
