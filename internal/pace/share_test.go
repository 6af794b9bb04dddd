package pace_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rpclab/internal/pace"
)

// shares returns the shares of n callers of a load.
func shares(whole pace.Spec, n int) []pace.Spec {
	var all []pace.Spec
	for i := range n {
		all = append(all, whole.Share(i, n))
	}
	return all
}

func TestSharesAddUpToTheWholeAndAreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "callers")
		whole := rapid.IntRange(n, 1_000_000).Draw(t, "whole")
		var calls, users, userCalls, inFlight int
		var counts []int
		for i := range n {
			burst := pace.Spec{Burst: &pace.Burst{Calls: whole}}.Share(i, n).Burst
			closed := pace.Spec{Closed: &pace.Closed{Users: whole, Calls: uint64(whole), Think: time.Second}}.Share(i, n).Closed
			rate := pace.Spec{Rate: &pace.Rate{PerSecond: 1, Max: whole}}.Share(i, n).Rate
			calls, users, userCalls, inFlight = calls+burst.Calls, users+closed.Users, userCalls+int(closed.Calls), inFlight+rate.Max
			counts = append(counts, burst.Calls)
			if closed.Think != time.Second {
				t.Fatalf("the users of a share think for %v, want 1s", closed.Think)
			}
		}
		if calls != whole || users != whole || userCalls != whole || inFlight != whole {
			t.Fatalf("the shares have %d calls, %d users with %d calls, and %d calls in flight; want %d of each", calls, users, userCalls, inFlight, whole)
		}
		if slices.Max(counts)-slices.Min(counts) > 1 || !slices.IsSortedFunc(counts, func(a, b int) int { return b - a }) {
			t.Fatalf("the shares of %d calls are %v, want even ones with the remainder first", whole, counts)
		}
	})
}

func TestCallersThatShareARateCallAtTheTimesOfOneCaller(t *testing.T) {
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
			t.Fatalf("calls of %d callers are due at %v, want %v as of one caller", n, all, whole)
		}
	})
}

// The gaps of a Poisson process have mean 1/rate and standard deviation 1/rate.
func TestSharesOfAPoissonProcessAddUpToAPoissonProcess(t *testing.T) {
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
			t.Errorf("%d callers: gaps have mean %.3f/rate and deviation %.3f/rate, want 1/rate for both", n, mean, deviation)
		}
	}
}

// Each share has calls in proportion to its users, so that all shares end at about the same time.
func TestCallsAreSharedInProportionToUsers(t *testing.T) {
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
				t.Fatalf("caller %d has %d of %d users and %d of %d calls, want %.1f calls", i, share.Users, whole.Users, share.Calls, whole.Calls, fair)
			}
		}
		if users != whole.Users || calls != whole.Calls {
			t.Fatalf("the shares have %d users and %d calls, want those of %+v", users, calls, whole)
		}
	})
}
