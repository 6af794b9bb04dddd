package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestAssessGivesKnownBalances(t *testing.T) {
	for name, c := range map[string]struct {
		counts []uint64
		want   Balance
	}{
		"no backend":        {nil, Balance{1, 1, 1}},
		"one backend":       {[]uint64{9}, Balance{1, 1, 1}},
		"no calls":          {[]uint64{0, 0, 0}, Balance{1, 1, 1}},
		"one call":          {[]uint64{1, 0, 0}, Balance{1. / 3, 3, 1}},
		"one gets all":      {[]uint64{1000, 0, 0}, Balance{1. / 3, 3, 0}},
		"one gets ten":      {[]uint64{10, 0, 0}, Balance{1. / 3, 3, 2 * math.Pow(3, -9)}},
		"one gets none":     {[]uint64{500, 500, 0}, Balance{2. / 3, 1.5, 0}},
		"a coin, even":      {[]uint64{50, 50}, Balance{1, 1, 2 * 0.0795892373871788}}, // C(100,50)/2^100
		"a coin, 60 of 100": {[]uint64{60, 40}, Balance{1 / 1.04, 1.2, 0.11377}},       // 2·P(X ≥ 60 or X ≤ 40)
		// 300!/(100!)³/3³⁰⁰ = 0.0027508, for which the chi-square distribution would give 0.
		"equal counts":    {[]uint64{100, 100, 100}, Balance{1, 1, 2 * 0.0027508}},
		"round robin":     {[]uint64{334, 333, 333}, Balance{0.999998, 1.002, 2 * 0.0024775}},
		"slightly uneven": {[]uint64{40, 30, 30}, Balance{0.980392, 1.2, 0.7451158}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Assess(c.counts), cmpopts.EquateApprox(1e-3, 1e-12)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolDoesNotSumCounts(t *testing.T) {
	// Each trial used one backend, not the same one each time: the sum would look even.
	got := Pool([][]uint64{{100, 0, 0}, {0, 100, 0}, {0, 0, 100}})
	if diff := cmp.Diff(Balance{Jain: 1. / 3, MaxOverMean: 3}, got, cmpopts.EquateApprox(1e-9, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPoolWeighsTrialsByCalls(t *testing.T) {
	got := Pool([][]uint64{{300, 0, 0}, {34, 33, 33}, {0, 0}, nil})
	want := Balance{Jain: 0.75/3 + 0.25*jain([]uint64{34, 33, 33}), MaxOverMean: 0.75*3 + 0.25*1.02}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPoolOfRoundRobinMultipliesProbabilities(t *testing.T) {
	one := chanceOf([][]uint64{{334, 333, 333}}).atMost
	three := chanceOf([][]uint64{{334, 333, 333}, {333, 334, 333}, {333, 333, 334}}).atMost
	if diff := cmp.Diff(one*one*one, three, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBalanceIsWithinItsBounds(t *testing.T) {
	counts := rapid.SliceOfN(rapid.Uint64Range(0, 5000), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		c := counts.Draw(t, "counts")
		b, k := Assess(c), math.Max(1, float64(len(c)))
		if b.Jain < 1/k-1e-9 || b.Jain > 1+1e-9 || b.MaxOverMean < 1-1e-9 || b.MaxOverMean > k+1e-9 || !(b.PRandom >= 0 && b.PRandom <= 1) {
			t.Fatalf("the balance of %d backends is %+v, want Jain's index from 1/n to 1, max/mean from 1 to n and a probability", len(c), b)
		}
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
		if diff := cmp.Diff(b, Assess(c), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
			t.Fatalf("the order of backends matters:\n%s", diff)
		}
	})
}

// Three methods compute the same probability.
func TestMethodsOfPRandomAgree(t *testing.T) {
	for _, c := range []struct {
		samples []sample
		x       float64
	}{
		{[]sample{{60, 3}}, 0.5},
		{[]sample{{60, 3}}, 2},
		{[]sample{{60, 3}}, 6},
		{[]sample{{100, 2}}, 1},
		{[]sample{{60, 6}}, 4},
		{[]sample{{30, 3}, {40, 4}}, 3},
	} {
		exact, ok := enumerated(c.samples, c.x)
		if !ok {
			t.Errorf("%v: the outcomes are too many to enumerate", c)
		}
		simulated, approx := drawn(c.samples, c.x), approximate(c.samples, c.x)
		if diff := cmp.Diff(exact, simulated, cmp.AllowUnexported(chance{}), cmpopts.EquateApprox(0, 0.02)); diff != "" {
			t.Errorf("%v by simulation (-exact +simulated):\n%s", c, diff)
		}
		if diff := cmp.Diff(exact, approx, cmp.AllowUnexported(chance{}), cmpopts.EquateApprox(0, 0.06)); diff != "" {
			t.Errorf("%v by chi-square (-exact +chi-square):\n%s", c, diff)
		}
	}
}

func BenchmarkPool(b *testing.B) {
	random := rand.New(rand.NewPCG(3, 3))
	trials := make([][]uint64, 20)
	for i := range trials {
		trials[i] = thrown(10_000, 10, random)
	}
	for b.Loop() {
		Pool(trials)
	}
}

func thrown(calls, backends int, random *rand.Rand) []uint64 {
	counts := make([]uint64, backends)
	for range calls {
		counts[random.IntN(backends)]++
	}
	return counts
}
