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

// system says what a probe of it shows.
type system func(search.Probe) search.Outcome

// holdsTo is a system that holds every rate up to a limit.
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

// seek plays a whole search.
func seek(t rapid.TB, p search.Plan, of system) (search.Bracket, []search.Probe) {
	s := search.New(p)
	var probes []search.Probe
	for probe, more := s.Next(); more; probe, more = s.Next() {
		if len(probes) == search.MaxProbes {
			t.Fatalf("a probe too many: %+v", probe)
		}
		if probe.Rate < p.From || probe.Rate > p.To || probe.Duration != map[bool]time.Duration{true: full, false: short}[probe.Full] {
			t.Fatalf("probe %+v is not one of the plan", probe)
		}
		probes = append(probes, probe)
		s.Record(probe, of(probe))
	}
	return s.Bracket(), probes
}

func TestTheBracketHoldsTheThresholdToThePrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plan(rapid.Float64Range(0.02, 0.5).Draw(t, "precision"))
		p.Start = rapid.Float64Range(0, 300).Draw(t, "start")
		limit := 100 * math.Pow(1000, rapid.Float64Range(0, 0.9999).Draw(t, "where"))
		got, probes := seek(t, p, holdsTo(limit))
		if got.End != search.Found || got.Holds > limit || got.Fails <= limit || got.Fails > got.Holds*(1+p.Precision)*1.000001 {
			t.Fatalf("%v, with the limit at %v, after %v", got, limit, probes)
		}
		if off := got.Rate() / limit; off > 1+p.Precision || off < 1/(1+p.Precision) {
			t.Fatalf("the estimate is %v of %v", got.Rate(), limit)
		}
	})
}

func TestBothEndsAreFromFullLengthProbes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, probes := seek(t, plan(0.02), holdsTo(rapid.Float64Range(100, 99_000).Draw(t, "limit")))
		sure := map[float64]bool{}
		for _, p := range probes {
			sure[p.Rate] = sure[p.Rate] || p.Full
		}
		if !sure[got.Holds] || !sure[got.Fails] {
			t.Fatalf("%v after %v", got, probes)
		}
	})
}

// Searches of the same system that start at rates of their own are off by other errors,
// which cancel; those that start at the same rate are all off by the same.
func TestSearchesThatStartElsewhereAreOffElsewhere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const searches, precision = 1000, 0.1
	for _, limit := range []float64{130, 230, 3456, 7890, 77_777} {
		var sum, squares float64
		for range searches {
			p := plan(precision)
			p.Start = p.From * math.Exp2(random.Float64())
			got, _ := seek(t, p, holdsTo(limit))
			off := math.Log(got.Rate() / limit)
			sum, squares = sum+off, squares+off*off
		}
		mean := sum / searches
		spread := math.Sqrt(squares/searches - mean*mean)
		if math.Abs(mean) > 0.15*precision || spread < 0.1*precision || spread > precision/2 {
			t.Errorf("limit %v: the mean of %d searches is off by %.2f %%, they spread by %.2f %%", limit, searches, 100*mean, 100*spread)
		}
	}
}

func TestMostProbesAreShort(t *testing.T) {
	_, probes := seek(t, plan(0.02), holdsTo(7000))
	long := 0
	for i, p := range probes {
		if p.Full {
			long++
		} else if i > 0 && probes[i-1].Full {
			t.Error("a short probe after one of full length that it cannot add to")
		}
	}
	if long > 4 || len(probes) > 14 || probes[0].Rate != 100 {
		t.Errorf("%d of %d probes are of full length: %v", long, len(probes), probes)
	}
}

func TestASystemThatHoldsEverythingHasNoLimit(t *testing.T) {
	got, probes := seek(t, plan(0.02), holdsTo(math.Inf(1)))
	if want := (search.Bracket{Holds: 100_000, End: search.HighestHolds}); got != want || len(probes) > 6 {
		t.Errorf("%+v after %d probes", got, len(probes))
	}
	if got.Rate() != 0 {
		t.Errorf("a bound is no estimate: %v", got.Rate())
	}
}

func TestASystemThatHoldsNothingIsAskedTwice(t *testing.T) {
	got, probes := seek(t, plan(0.02), holdsTo(0))
	if want := (search.Bracket{Fails: 100, End: search.LowestFails}); got != want || len(probes) != 2 || !probes[1].Full {
		t.Errorf("%+v after %v", got, probes)
	}
	p := plan(0.02)
	p.Start = 150
	if got, probes := seek(t, p, holdsTo(0)); got.End != search.LowestFails || len(probes) != 3 || probes[2].Rate != 100 {
		t.Errorf("from above: %+v after %v", got, probes)
	}
}

func TestAStumbleAtTheStartDoesNotDecide(t *testing.T) {
	first := true
	got, _ := seek(t, plan(0.02), func(p search.Probe) search.Outcome {
		stumble := first
		first = false
		return outcome(!stumble && p.Rate <= 30_000)
	})
	if got.End != search.Found || got.Holds > 30_000 || got.Fails <= 30_000 {
		t.Errorf("%+v", got)
	}
}

// What a queue takes a while to show, short probes overlook.
func TestFullLengthProbesOverruleShortOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(200, 90_000).Draw(t, "limit")
		shortLimit := limit * rapid.Float64Range(0.97, 1.08).Draw(t, "short")
		got, probes := seek(t, plan(0.02), func(p search.Probe) search.Outcome {
			if p.Full {
				return outcome(p.Rate <= limit)
			}
			return outcome(p.Rate <= shortLimit)
		})
		if got.Holds > limit || got.Fails <= limit {
			t.Fatalf("%+v of %v (short: %v)", got, limit, shortLimit)
		}
		if got.End != search.Found && (len(probes) < search.MaxProbes || got.Fails > got.Holds*1.1) {
			t.Fatalf("%+v of %v (short: %v) after %v", got, limit, shortLimit, probes)
		}
	})
}

// A queue takes a while to fill: in a quarter of the time, 20 workers of 100 ms each meet
// p99 < 200 ms at rates up to 10 % too high.
func TestAQueueThatShortProbesDoNotFillIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const searches, limit, overlooked = 1000, 206.9, 1.1
	for range searches {
		p := search.Plan{From: 20, To: 4000, Precision: 0.02, Duration: full, Start: 20 * math.Exp2(random.Float64())}
		got, probes := seek(t, p, func(p search.Probe) search.Outcome {
			threshold := limit * math.Exp(0.003*random.NormFloat64())
			if !p.Full {
				threshold *= overlooked
			}
			return outcome(p.Rate <= threshold)
		})
		if got.End != search.Found || math.Abs(got.Rate()/limit-1) > 0.025 {
			t.Fatalf("%+v of %v after %v", got, limit, probes)
		}
	}
}

func TestANoisyThresholdIsFoundNearby(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var worst float64
	const searches = 2000
	for range searches {
		got, _ := seek(t, plan(0.02), func(p search.Probe) search.Outcome {
			noise := 0.02
			if p.Full {
				noise = 0.01
			}
			return outcome(p.Rate <= 5000*math.Exp(noise*random.NormFloat64()))
		})
		if got.Rate() == 0 {
			t.Fatalf("%+v", got)
		}
		worst = max(worst, math.Abs(math.Log(got.Rate()/5000)))
	}
	if worst > 0.05 {
		t.Errorf("the worst of %d is off by %.1f %%, with noise of 1 %%", searches, 100*worst)
	}
}

func TestTheGeneratorsLimitIsNoFailure(t *testing.T) {
	const server, generator = 9000, 4000
	got, _ := seek(t, plan(0.02), func(p search.Probe) search.Outcome {
		if p.Rate > generator {
			return search.Limited
		}
		return outcome(p.Rate <= server)
	})
	if got.End != search.GeneratorLimited || got.Fails != 0 || got.Holds > generator || got.Holds < generator/1.02 || got.Rate() != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAGeneratorThatStumbledOnceIsAskedAgain(t *testing.T) {
	got, _ := seek(t, plan(0.02), func(p search.Probe) search.Outcome {
		if !p.Full && p.Rate > 3900 {
			return search.Limited
		}
		return outcome(p.Rate <= 4000)
	})
	if got.End != search.Found || got.Holds > 4000 || got.Fails <= 4000 {
		t.Errorf("%+v", got)
	}
}

func TestAFullLengthProbeThatTheGeneratorLimitedIsMadeAgain(t *testing.T) {
	stumbled := map[float64]bool{}
	got, probes := seek(t, plan(0.05), func(p search.Probe) search.Outcome {
		if p.Full && !stumbled[p.Rate] && len(stumbled) < 2 {
			stumbled[p.Rate] = true
			return search.Limited
		}
		return outcome(p.Rate <= 4000)
	})
	if got.End != search.Found || got.Holds > 4000 || got.Fails <= 4000 || len(stumbled) != 2 {
		t.Errorf("%+v after %v", got, probes)
	}
}

func TestASearchThatIsCutShortSaysWhatIsKnown(t *testing.T) {
	s := search.New(plan(0.02))
	if got := s.Bracket(); got != (search.Bracket{End: search.OutOfProbes}) {
		t.Errorf("before the first probe: %+v", got)
	}
	for range 4 {
		p, _ := s.Next()
		s.Record(p, outcome(p.Rate < 1000))
	}
	if got := s.Bracket(); got != (search.Bracket{End: search.OutOfProbes}) {
		t.Errorf("short probes alone: %+v", got)
	}
}

func TestTheLastProbesConfirmWhatIsThere(t *testing.T) {
	p := search.Plan{From: 1, To: 1e7, Precision: 0.005, Duration: full}
	got, probes := seek(t, p, holdsTo(54_321))
	if got.End != search.OutOfProbes || len(probes) != search.MaxProbes || got.Holds == 0 || got.Holds > 54_321 || got.Fails <= 54_321 {
		t.Errorf("%+v after %v", got, probes)
	}
}
