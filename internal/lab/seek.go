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
	"rpclab/internal/result/assert"
)

// seek runs the probes of a search, one after another on one session. The trial gets
// the measures of the full-length probe at the rate that holds. An interrupt leaves
// what was seen until then.
func (l *lab) seek(ctx context.Context, trial result.Trial, t experiment.Trial, c *crew, f field, tell func(doing string)) (result.Trial, error) {
	wanted := t.Config.Load.Search
	slo, err := assert.Parse(wanted.SLO)
	if err != nil {
		return trial, err
	}
	found := &result.Capacity{SLO: wanted.SLO}
	best, rate := trial, 0.0
	s := search.New(planOf(*wanted, t.Seed))
	for p, more := s.Next(); more; p, more = s.Next() {
		tell(fmt.Sprintf("probe %d at %.4g/s", len(found.Probes)+1, p.Rate))
		seen, err := l.load(ctx, trial, t, c, f, probeOrder(*wanted, p, seed(t.Seed, strconv.Itoa(len(found.Probes)))), longest(t.Config))
		if err != nil || seen.Failed != "" {
			conclude(found, s.Found())
			seen.Capacity = found
			if ctx.Err() != nil {
				found.End = "interrupted"
				seen.Failed = fmt.Sprintf("interrupted after %d probes", len(found.Probes))
			}
			return seen, err
		}
		held := len(slo.Check(objective(seen.Measures))) == 0
		s.Saw(p, outcomeOf(held, seen.Limited))
		found.Probes = append(found.Probes, probeOf(p, held, seen))
		if p.Full && held && p.Rate > rate {
			best, rate = seen, p.Rate
		}
	}
	conclude(found, s.Found())
	best.Capacity, best.Limited, best.Failed = found, "", ""
	if found.End == string(search.Generator) {
		best.Limited = limitOf(found.Probes)
	}
	if found.Holds == 0 {
		best.Failed = "no rate was found at which " + wanted.SLO + " holds: " + map[search.End]string{
			search.FromFails: "not even " + perSecond(wanted.From) + ", the lowest; lower load.search.from, or ask for less",
			search.Generator: "the generator was the limit " + best.Limited + "; lower load.search.from, or use a faster machine",
			search.UsedUp:    fmt.Sprintf("%d probes were too few; make load.search.duration longer", len(found.Probes)),
		}[search.End(found.End)]
	}
	return best, nil
}

// planOf starts within an octave of the lowest rate: at the same one, every search would
// try the same rates, find the same bracket, and look surer than it is.
func planOf(wanted experiment.Search, of uint64) search.Plan {
	octave := rand.New(rand.NewPCG(seed(of, "start"), 0)).Float64()
	return search.Plan{
		From: wanted.From, To: wanted.To, Start: wanted.From * math.Exp2(octave),
		Precision: float64(wanted.Precision) / 100, Duration: wanted.Duration,
	}
}

func conclude(c *result.Capacity, b search.Bracket) {
	c.Rate, c.Holds, c.Fails, c.End = b.Rate(), b.Holds, b.Fails, string(b.End)
}

// probeOrder gives the calls of a probe as long as one of full length to be answered
// after the last was due. What is under way then is given up, so that an overload does
// not last into the next probe.
func probeOrder(wanted experiment.Search, p search.Probe, seed uint64) order {
	return order{
		Pace: pace.Spec{Rate: &pace.Rate{
			PerSecond: p.Rate, Duration: p.Duration, Max: wanted.MaxInFlight, Poisson: wanted.Arrivals == "poisson", Seed: seed,
		}},
		Limit: p.Duration + wanted.Duration,
	}
}

// objective are the measures as an SLO sees them: a call that was dropped is one that
// failed.
func objective(m result.Measures) result.Measures {
	if m.Dropped > 0 {
		m.Errors = maps.Clone(m.Errors)
		m.Errors["DROPPED"] += m.Dropped
	}
	return m
}

// outcomeOf does not hold the generator's limit against the servers. Where the
// objective held all the same, the limit does not matter.
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
		Rate: p.Rate, DurationMS: ms(p.Duration), Full: p.Full, Held: held,
		Calls: t.Calls, Errors: t.Measures.Failed(), Dropped: t.Dropped,
		P50: t.Latency.P50, P99: t.Latency.P99, Lateness: t.Lateness.P99,
	}
	if !held {
		probe.Limited = t.Limited
	}
	return probe
}

// limitOf says at which full-length probe the generator was the limit.
func limitOf(probes []result.Probe) string {
	text, least := "", 0.0
	for _, p := range probes {
		if p.Full && p.Limited != "" && (text == "" || p.Rate < least) {
			text, least = fmt.Sprintf("at %s %s", perSecond(p.Rate), p.Limited), p.Rate
		}
	}
	return text
}

func perSecond(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) + "/s" }

// capacities are what the searches of an arm found; nil: its load was none.
func capacities(trials []result.Trial) *result.Capacities {
	var all *result.Capacities
	logs := 0.0
	for _, t := range trials {
		if t.Capacity == nil {
			continue
		}
		if all == nil {
			all = &result.Capacities{}
		}
		rate := t.Capacity.Rate
		if t.Failed != "" || rate == 0 {
			continue
		}
		if all.Count == 0 {
			all.Low, all.High = rate, rate
		}
		all.Low, all.High = min(all.Low, rate), max(all.High, rate)
		all.Count++
		logs += math.Log(rate)
		all.Rate = math.Exp(logs / float64(all.Count))
	}
	return all
}
