package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// armNoise is the noise of an arm: its deviation as a share, and what neighbouring cycles share of it.
type armNoise struct{ share, correlation float64 }

// cell is how the noise of the arms of a cell differs; the first arm is the baseline.
type cell struct {
	name string
	of   func(arm, arms int) armNoise
}

func unlike(name string, usual, odd armNoise, isOdd func(arm, arms int) bool) cell {
	return cell{name, func(arm, arms int) armNoise {
		if isOdd(arm, arms) {
			return odd
		}
		return usual
	}}
}

func noArm(int, int) bool        { return false }
func baseline(arm, _ int) bool   { return arm == 0 }
func lastArm(arm, arms int) bool { return arm == arms-1 }
func everyOther(arm, _ int) bool { return arm%2 == 1 }
func allButLast(arm, n int) bool { return arm > 0 && arm < n-1 }

// values draws n values of every arm. The arms share a drift and differ only in noise.
func (c cell) values(arms, n int, r *rand.Rand) [][]float64 {
	all := make([][]float64, arms)
	drift := make([]float64, n)
	for i := range drift {
		drift[i] = 0.2 * r.NormFloat64()
	}
	for arm := range all {
		noise := c.of(arm, arms)
		all[arm] = autoregressive(noise.correlation)(n, r)
		for i, x := range all[arm] {
			all[arm][i] = math.Exp(noise.share*x + drift[i])
		}
	}
	return all
}

// missesAny compares every arm with the first. It returns whether any interval of the run misses 1, and the
// half width of the last interval divided by that of Student's t interval.
func missesAny(values [][]float64, o Options, measure bool) (missed bool, width float64) {
	o.Family = len(values) - 1
	o = o.withDefaults()
	for arm := 1; arm < len(values); arm++ {
		pairs := make([]Pair, len(values[0]))
		for i := range pairs {
			pairs[i] = Pair{A: values[arm][i], B: values[0][i]}
		}
		o.Others = append(append([][]float64{}, values[1:arm]...), values[arm+1:]...)
		logs, _ := logRatios(pairs)
		measured := measure && arm == len(values)-1
		if o.Consecutive && !measured && !studentMisses(logs, o.alpha()) {
			continue
		}
		u := uncertaintyOf(pairs, logs, o)
		missed = missed || u.beyond(mean(logs)) < o.alpha()
		if measured {
			width = u.half(o.alpha()) / (student(len(logs), o.alpha()) * deviation(logs) / math.Sqrt(float64(len(logs))))
		}
	}
	return missed, width
}

// errorAndWidth returns the figures of a table: the share of runs with an interval that misses the truth, and
// the mean width of the last interval as a multiple of Student's (over 100 runs).
func errorAndWidth(t *testing.T, c cell, arms, n, runs int, o Options, allowed float64) string {
	r := rand.New(rand.NewPCG(62, uint64(100*n+arms)))
	wrong, width := 0, 0.0
	for i := range runs {
		missed, wide := missesAny(c.values(arms, n, r), o, i < 100)
		if missed {
			wrong++
		}
		width += wide / 100
	}
	if testkit.TooMany(wrong, runs, allowed) {
		t.Errorf("%s, %d arms, %d values: an interval misses the truth in %d of %d runs, want at most 5 %%", c.name, arms, n, wrong, runs)
	}
	return fmt.Sprintf(" %.1f %%, %.2f |", testkit.Percent(wrong, runs), width)
}

// TestCoverageOfSharedVariance simulates rounds of arms whose noise differs by a factor of up to five. All
// intervals of a run contain the truth in 95 % of runs.
func TestCoverageOfSharedVariance(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	quiet, noisy, threeTimes := armNoise{share: 0.03}, armNoise{share: 0.15}, armNoise{share: 0.09}
	rows := []string{"| noise of the arms | rounds | 3 arms | 5 arms | 7 arms | 13 arms |", "|---|---|---|---|---|---|"}
	for _, c := range []cell{
		unlike("alike", quiet, quiet, noArm),
		unlike("the baseline 5 ×", quiet, noisy, baseline),
		unlike("the baseline 3 ×", quiet, threeTimes, baseline),
		unlike("one arm 5 ×", quiet, noisy, lastArm),
		unlike("every other arm 5 ×", quiet, noisy, everyOther),
		unlike("every other arm 3 ×", quiet, threeTimes, everyOther),
		unlike("all but the baseline and one 5 ×", quiet, noisy, allButLast),
	} {
		for _, rounds := range []int{4, 6} {
			row := fmt.Sprintf("| %s | %d |", c.name, rounds)
			for _, arms := range []int{3, 5, 7, 13} {
				if *testkit.Sims < 1000 && arms > 4 {
					continue
				}
				row += errorAndWidth(t, c, arms, rounds, *testkit.Sims, Options{}, 0.05)
			}
			rows = append(rows, row)
		}
	}
	testkit.Table(t, page, "shared", rows)
}

// TestCoverageOfSharedDependence simulates cycles of arms of which some depend more on their neighbours than
// others.
func TestCoverageOfSharedDependence(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	usual := armNoise{share: 0.03}
	odd, louder := armNoise{0.03, 0.7}, armNoise{0.09, 0.7}
	rows := []string{"| arms with neighbours that share | cycles | 3 arms | 7 arms |", "|---|---|---|---|"}
	for _, c := range []cell{
		unlike("none", usual, usual, noArm),
		unlike("all, 0.3", armNoise{0.03, 0.3}, usual, noArm),
		unlike("all, 0.5", armNoise{0.03, 0.5}, usual, noArm),
		unlike("all, 0.7", odd, odd, noArm),
		unlike("the baseline, 0.7", usual, odd, baseline),
		unlike("the baseline, 0.7, and 3 × as noisy", usual, louder, baseline),
		unlike("one arm, 0.7", usual, odd, lastArm),
		unlike("one arm, 0.7, and 3 × as noisy", usual, louder, lastArm),
		unlike("every other arm, 0.7", usual, odd, everyOther),
	} {
		for _, n := range []int{12, 20, 40, 100} {
			if *testkit.Sims < 1000 && n > 12 {
				continue
			}
			row := fmt.Sprintf("| %s | %d |", c.name, n)
			for _, arms := range []int{3, 7} {
				if *testkit.Sims < 1000 && arms != 3 {
					continue
				}
				row += errorAndWidth(t, c, arms, n, 2**testkit.Sims, Options{Consecutive: true}, 0.05)
			}
			rows = append(rows, row)
		}
	}
	testkit.Table(t, page, "dependence", rows)
}

// TestOtherArmsNarrowTheInterval checks the price of what neighbours might share, in a quick run of seven arms that
// share nothing.
func TestOtherArmsNarrowTheInterval(t *testing.T) {
	alike := unlike("alike", armNoise{share: 0.03}, armNoise{}, noArm)
	r := rand.New(rand.NewPCG(68, 68))
	width := 0.0
	for range 100 {
		_, wide := missesAny(alike.values(7, 22, r), Options{Consecutive: true}, true)
		width += wide / 100
	}
	if width < 1 || width > 1.75 {
		t.Errorf("the interval is %.2f times as wide as Student's, want at most 1.75", width)
	}
}

// TestExpectedDependences checks that the probabilities before any value is known sum to 1, and that the extremes have
// most of it only if there are few values.
func TestExpectedDependences(t *testing.T) {
	for n, want := range map[int]float64{4: 0.57, 20: 0.6, 40: 0.1, 400: 0.1} {
		total, none := 0.0, 0.0
		for i, p := range beforehand(n) {
			total += p
			if dependences[i].correlation == 0 {
				none += p
			}
		}
		if math.Abs(total-1) > 1e-9 || math.Abs(none-want) > 0.05 {
			t.Errorf("%d values: probabilities sum to %.3f, and independence has %.2f, want 1 and %.2f", n, total, none, want)
		}
	}
}
