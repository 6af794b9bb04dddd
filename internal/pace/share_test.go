package pace_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rpclab/internal/pace"
)

// shares are all shares of a load.
func shares(whole pace.Spec, n int) []pace.Spec {
	var all []pace.Spec
	for i := range n {
		all = append(all, whole.Share(i, n))
	}
	return all
}

func TestWhatIsDealtOutAddsUpAndIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "callers")
		whole := rapid.IntRange(n, 1_000_000).Draw(t, "whole")
		var calls, users, ofUsers, flying int
		var counts []int
		for i := range n {
			burst := pace.Spec{Burst: &pace.Burst{Calls: whole}}.Share(i, n).Burst
			closed := pace.Spec{Closed: &pace.Closed{Users: whole, Calls: uint64(whole), Think: time.Second}}.Share(i, n).Closed
			rate := pace.Spec{Rate: &pace.Rate{PerSecond: 1, Max: whole}}.Share(i, n).Rate
			calls, users, ofUsers, flying = calls+burst.Calls, users+closed.Users, ofUsers+int(closed.Calls), flying+rate.Max
			counts = append(counts, burst.Calls)
			if closed.Think != time.Second {
				t.Fatalf("a share thinks for %v", closed.Think)
			}
		}
		if calls != whole || users != whole || ofUsers != whole || flying != whole {
			t.Fatalf("of %d there are %d calls, %d users with %d calls, %d in flight", whole, calls, users, ofUsers, flying)
		}
		if slices.Max(counts)-slices.Min(counts) > 1 || !slices.IsSortedFunc(counts, func(a, b int) int { return b - a }) {
			t.Fatalf("shares of %d are %v", whole, counts)
		}
	})
}

// Whoever shares a rate, the same calls are due at the same times as without.
func TestSharesOfARateAreDueAsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "callers")
		rate := pace.Rate{
			PerSecond: rapid.Float64Range(0.5, 1e5).Draw(t, "rate"),
			Duration:  time.Duration(rapid.IntRange(1, 200).Draw(t, "ms")) * time.Millisecond,
			Max:       1000,
		}
		var all []time.Duration
		for _, share := range shares(pace.Spec{Rate: &rate}, n) {
			all = append(all, dues(*share.Rate, 0)...)
		}
		slices.Sort(all)
		if whole := dues(rate, 0); !slices.Equal(all, whole) {
			t.Fatalf("%d callers are due at %v, one at %v", n, all, whole)
		}
	})
}

// The gaps of a Poisson process have a mean of 1/rate and as much of a deviation.
func TestSharesOfAPoissonProcessAreOneTogether(t *testing.T) {
	const rate, seconds = 1000, 20
	whole := pace.Spec{Rate: &pace.Rate{PerSecond: rate, Duration: seconds * time.Second, Max: 100, Poisson: true, Seed: 7}}
	for _, n := range []int{1, 4, 16} {
		var all []time.Duration
		for _, share := range shares(whole, n) {
			all = append(all, dues(*share.Rate, 0)...)
		}
		slices.Sort(all)
		var sum, squares float64
		for i := 1; i < len(all); i++ {
			gap := (all[i] - all[i-1]).Seconds() * rate
			sum, squares = sum+gap, squares+gap*gap
		}
		count := float64(len(all) - 1)
		mean := sum / count
		deviation := math.Sqrt(squares/count - mean*mean)
		if math.Abs(mean-1) > 0.03 || math.Abs(deviation-1) > 0.05 {
			t.Errorf("%d callers: gaps have a mean of %.3f and a deviation of %.3f of the whole's", n, mean, deviation)
		}
	}
}

// Users of all shares end at about the same time, and none has no bound.
func TestCallsGoWithTheirUsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "callers")
		whole := pace.Closed{Users: rapid.IntRange(n, 1000).Draw(t, "users")}
		whole.Calls = uint64(rapid.IntRange(whole.Users, 100_000).Draw(t, "calls"))
		var users int
		var calls uint64
		for i := range n {
			share := pace.Spec{Closed: &whole}.Share(i, n).Closed
			users, calls = users+share.Users, calls+share.Calls
			if fair := float64(whole.Calls) * float64(share.Users) / float64(whole.Users); share.Calls == 0 || math.Abs(float64(share.Calls)-fair) >= 1 {
				t.Fatalf("caller %d has %d of %d users and %d of %d calls", i, share.Users, whole.Users, share.Calls, whole.Calls)
			}
		}
		if users != whole.Users || calls != whole.Calls {
			t.Fatalf("%d users and %d calls in all, of %+v", users, calls, whole)
		}
	})
}
