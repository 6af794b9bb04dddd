package search_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"rpclab/internal/pace/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	full  = 4 * time.Second
	short = time.Second
)

// system returns the outcome of a probe.
type system func(search.Probe) search.Outcome

// holdsTo returns a system that meets the objective at every rate up to a limit.
func holdsTo(limit float64) system {
	return func(p search.Probe) search.Outcome { return outcome(p.Rate <= limit) }
}

func outcome(held bool) search.Outcome {
	if held {
		return search.Held
	}
	return search.Failed
}

func plan(precision float64) search.Plan {
	return search.Plan{From: 100, To: 100_000, Precision: precision, Duration: full}
}

// runSearch runs a whole search of a system.
func runSearch(t rapid.TB, plan search.Plan, probed system) (search.Bracket, []search.Probe) {
	running := search.New(plan)
	var probes []search.Probe
	for probe, more := running.Next(); more; probe, more = running.Next() {
		if len(probes) == search.MaxProbes {
			t.Fatalf("after %d probes the search asks for %+v, want none", len(probes), probe)
		}
		if probe.Rate < plan.From || probe.Rate > plan.To || probe.Duration != map[bool]time.Duration{true: full, false: short}[probe.Full] {
			t.Fatalf("probe %+v has a rate or duration outside of the plan %+v", probe, plan)
		}
		probes = append(probes, probe)
		running.Record(probe, probed(probe))
	}
	return running.Bracket(), probes
}

func TestTheBracketContainsTheLimitToThePrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := plan(rapid.Float64Range(0.02, 0.5).Draw(t, "precision"))
		wanted.Start = rapid.Float64Range(0, 300).Draw(t, "start")
		limit := 100 * math.Pow(1000, rapid.Float64Range(0, 0.9999).Draw(t, "where"))
		got, probes := runSearch(t, wanted, holdsTo(limit))
		if got.End != search.Found && len(probes) < search.MaxProbes || got.Holds > limit || got.Fails <= limit || got.Fails > got.Holds*(1+wanted.Precision)*1.000001 {
			t.Fatalf("the bracket is %v after %v, want one around %v with precision %v", got, probes, limit, wanted.Precision)
		}
		if off := got.Rate / limit; off > 1+wanted.Precision || off < 1/(1+wanted.Precision) {
			t.Fatalf("the estimate is %v calls/s, want %v within %v", got.Rate, limit, wanted.Precision)
		}
	})
}

func TestBothSidesOfTheBracketAreFromFullLengthProbes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, probes := runSearch(t, plan(0.02), holdsTo(rapid.Float64Range(100, 99_000).Draw(t, "limit")))
		full := map[float64]bool{}
		for _, probe := range probes {
			full[probe.Rate] = full[probe.Rate] || probe.Full
		}
		if !full[got.Holds] || !full[got.Fails] {
			t.Fatalf("the bracket is %v after %v, want both rates from full-length probes", got, probes)
		}
	})
}

// Searches that start at different rates have different errors, which cancel in the mean. Searches
// that start at the same rate all have the same error.
func TestErrorsOfSearchesWithDifferentStartsCancel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const searches, precision = 1000, 0.1
	for _, limit := range []float64{130, 230, 3456, 7890, 77_777} {
		var sum, squares float64
		for range searches {
			p := plan(precision)
			p.Start = p.From * math.Exp2(random.Float64())
			got, _ := runSearch(t, p, holdsTo(limit))
			off := math.Log(got.Rate / limit)
			sum, squares = sum+off, squares+off*off
		}
		mean := sum / searches
		spread := math.Sqrt(squares/searches - mean*mean)
		if math.Abs(mean) > 0.15*precision || spread < 0.1*precision || spread > precision/2 {
			t.Errorf("limit %v: the mean of %d searches is off by %.2f %% and their deviation is %.2f %%, want at most 1.5 %% and 1 %% to 5 %%",
				limit, searches, 100*mean, 100*spread)
		}
	}
}

func TestShortProbesComeFirst(t *testing.T) {
	_, probes := runSearch(t, plan(0.02), holdsTo(7000))
	short := 0
	for i, p := range probes {
		if !p.Full {
			short++
			if i > 0 && probes[i-1].Full {
				t.Errorf("probe %d is short and follows a full-length probe, want short probes first: %v", i, probes)
			}
		}
	}
	if short < 5 || short > 7 || probes[0].Rate != 100 {
		t.Errorf("%d of %d probes are short: %v; want 5 to 7, the first at 100 calls/s", short, len(probes), probes)
	}
}

func TestASystemThatHoldsEveryRateHasNoEstimate(t *testing.T) {
	got, probes := runSearch(t, plan(0.02), holdsTo(math.Inf(1)))
	if want := (search.Bracket{Holds: 100_000, End: search.HighestHolds}); got != want || len(probes) > 6 {
		t.Errorf("the bracket is %+v after %d probes, want %+v after at most 6", got, len(probes), want)
	}
	if got.Rate != 0 {
		t.Errorf("the estimate is %v calls/s, want 0: only a lower bound is known", got.Rate)
	}
}

func TestTwoProbesFindThatTheLowestRateFails(t *testing.T) {
	got, probes := runSearch(t, plan(0.02), holdsTo(0))
	if want := (search.Bracket{Fails: 100, End: search.LowestFails}); got != want || len(probes) != 2 || !probes[1].Full {
		t.Errorf("the bracket is %+v after %v, want %+v after a short and a full-length probe", got, probes, want)
	}
	p := plan(0.02)
	p.Start = 150
	if got, probes := runSearch(t, p, holdsTo(0)); got.End != search.LowestFails || len(probes) != 3 || probes[2].Rate != 100 {
		t.Errorf("from a start above the lowest rate the bracket is %+v after %v, want %s after 3 probes, the last at 100 calls/s", got, probes, search.LowestFails)
	}
}

func TestAFailedFirstProbeIsOverruledByLaterOnes(t *testing.T) {
	first := true
	got, _ := runSearch(t, plan(0.02), func(p search.Probe) search.Outcome {
		fails := first
		first = false
		return outcome(!fails && p.Rate <= 30_000)
	})
	if got.End != search.Found || got.Holds > 30_000 || got.Fails <= 30_000 {
		t.Errorf("the bracket is %+v, want one around 30,000 calls/s", got)
	}
}

// A short probe may end before a queue is full, and then holds a rate that a full-length probe fails.
func TestFullLengthProbesOverruleShortProbes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(200, 90_000).Draw(t, "limit")
		shortLimit := limit * rapid.Float64Range(0.97, 1.08).Draw(t, "short")
		got, probes := runSearch(t, plan(0.02), func(probe search.Probe) search.Outcome {
			if probe.Full {
				return outcome(probe.Rate <= limit)
			}
			return outcome(probe.Rate <= shortLimit)
		})
		if got.Holds > limit || got.Fails <= limit {
			t.Fatalf("the bracket is %+v, want one around %v (short probes: %v)", got, limit, shortLimit)
		}
		// Seldom all probes are used before one has failed just above a limit at which many held.
		if off := math.Abs(math.Log(got.Rate / limit)); got.End != search.Found && (len(probes) < search.MaxProbes || off > math.Log(1.1)) {
			t.Fatalf("the bracket is %+v after %v, want %s around %v (short probes: %v), or an estimate within 10 %% when all probes are used", got, probes, search.Found, limit, shortLimit)
		}
	})
}

// A queue fills slowly: in a quarter of the time, 20 workers of 100 ms each meet p99 < 200 ms at
// rates up to 10 % too high.
func TestALimitThatShortProbesOverestimateIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const searches, limit, overlooked = 1000, 206.9, 1.1
	for range searches {
		p := search.Plan{From: 20, To: 4000, Precision: 0.02, Duration: full, Start: 20 * math.Exp2(random.Float64())}
		got, probes := runSearch(t, p, func(probe search.Probe) search.Outcome {
			threshold := limit * math.Exp(0.003*random.NormFloat64())
			if !probe.Full {
				threshold *= overlooked
			}
			return outcome(probe.Rate <= threshold)
		})
		if got.Holds == 0 || got.Fails == 0 || math.Abs(got.Rate/limit-1) > 0.025 {
			t.Fatalf("the bracket is %+v after %v, want one around %v", got, probes, limit)
		}
	}
}

func TestALimitWithOnePercentNoiseIsFoundWithinFivePercent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var worst float64
	const searches = 2000
	for range searches {
		got, _ := runSearch(t, plan(0.02), func(probe search.Probe) search.Outcome {
			noise := 0.02
			if probe.Full {
				noise = 0.01
			}
			return outcome(probe.Rate <= 5000*math.Exp(noise*random.NormFloat64()))
		})
		if got.Rate == 0 {
			t.Fatalf("the bracket is %+v, want one with an estimate", got)
		}
		worst = max(worst, math.Abs(math.Log(got.Rate/5000)))
	}
	if worst > 0.05 {
		t.Errorf("the worst of %d estimates is off by %.1f %% with noise of 1 %%, want at most 5 %%", searches, 100*worst)
	}
}

func TestALimitOfTheGeneratorIsNotAFailureOfTheSystem(t *testing.T) {
	const server, generator = 9000, 4000
	got, _ := runSearch(t, plan(0.02), func(probe search.Probe) search.Outcome {
		if probe.Rate > generator {
			return search.Limited
		}
		return outcome(probe.Rate <= server)
	})
	if got.End != search.GeneratorLimited || got.Fails != 0 || got.Holds > generator || got.Holds < generator/1.02 || got.Rate != 0 {
		t.Errorf("the bracket is %+v, want %s: holds up to %d calls/s, no failing rate and no estimate", got, search.GeneratorLimited, generator)
	}
}

func TestShortProbesThatTheGeneratorLimitedAreOverruled(t *testing.T) {
	got, _ := runSearch(t, plan(0.02), func(probe search.Probe) search.Outcome {
		if !probe.Full && probe.Rate > 3900 {
			return search.Limited
		}
		return outcome(probe.Rate <= 4000)
	})
	if got.End != search.Found || got.Holds > 4000 || got.Fails <= 4000 {
		t.Errorf("the bracket is %+v, want one around 4,000 calls/s", got)
	}
}

func TestAFullLengthProbeThatTheGeneratorLimitedIsRepeated(t *testing.T) {
	limited := map[float64]bool{}
	got, probes := runSearch(t, plan(0.05), func(probe search.Probe) search.Outcome {
		if probe.Full && !limited[probe.Rate] && len(limited) < 2 {
			limited[probe.Rate] = true
			return search.Limited
		}
		return outcome(probe.Rate <= 4000)
	})
	if got.End != search.Found || got.Holds > 4000 || got.Fails <= 4000 || len(limited) != 2 {
		t.Errorf("the bracket is %+v after %v, want one around 4,000 calls/s with 2 rates repeated, not %d", got, probes, len(limited))
	}
}

func TestABracketBeforeTheFirstFullLengthProbeIsEmpty(t *testing.T) {
	started := search.New(plan(0.02))
	if got := started.Bracket(); got != (search.Bracket{End: search.OutOfProbes}) {
		t.Errorf("before the first probe the bracket is %+v, want an empty one", got)
	}
	for range 4 {
		p, _ := started.Next()
		started.Record(p, outcome(p.Rate < 1000))
	}
	if got := started.Bracket(); got != (search.Bracket{End: search.OutOfProbes}) {
		t.Errorf("after short probes only the bracket is %+v, want an empty one", got)
	}
}

func TestTheLastProbesConfirmAWiderBracket(t *testing.T) {
	p := search.Plan{From: 1, To: 1e7, Precision: 0.005, Duration: full}
	got, probes := runSearch(t, p, holdsTo(54_321))
	if got.End != search.OutOfProbes || len(probes) != search.MaxProbes || got.Holds == 0 || got.Holds > 54_321 || got.Fails <= 54_321 {
		t.Errorf("the bracket is %+v after %v, want one around 54,321 calls/s after %d probes", got, probes, search.MaxProbes)
	}
}
