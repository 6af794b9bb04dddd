package service_test

import (
	"testing"

	"rpclab/internal/service"
)

// TestAMixHasItsShares checks that consecutive calls have exactly the shares of their weights, and that the calls
// of each kind are numbered without gaps.
func TestAMixHasItsShares(t *testing.T) {
	for _, weights := range [][]uint64{{1, 1}, {80, 20}, {8000, 1999, 1}, {3, 5, 9}, {1, 999_999}} {
		var calls []service.Spec
		sum := uint64(0)
		for _, w := range weights {
			calls, sum = append(calls, service.Spec{Weight: w}), sum+w
		}
		mix := service.NewMix(calls)
		const groups = 2
		seen := make([]map[uint64]bool, len(weights))
		for n := range groups * sum {
			kind, number := mix.Of(n)
			if seen[kind] == nil {
				seen[kind] = map[uint64]bool{}
			}
			seen[kind][number] = true
		}
		for kind, w := range weights {
			if got := uint64(len(seen[kind])); got != groups*w || !seen[kind][0] || !seen[kind][groups*w-1] {
				t.Errorf("weights %v: %d numbers of call %d in %d calls, want 0 to %d", weights, got, kind, groups*sum, groups*w-1)
			}
		}
	}
}

func TestAMixOfOneCallNumbersItAsTheLoad(t *testing.T) {
	if kind, number := service.NewMix([]service.Spec{{}}).Of(7); kind != 0 || number != 7 {
		t.Errorf("call 7 is number %d of call %d", number, kind)
	}
}

// TestAMixDoesNotRepeatItsOrder: backends that calls reach in turn would otherwise get calls of one kind each.
func TestAMixDoesNotRepeatItsOrder(t *testing.T) {
	mix := service.NewMix([]service.Spec{{Weight: 4}, {Weight: 1}})
	places := map[uint64]bool{}
	for n := range uint64(200) {
		if kind, _ := mix.Of(n); kind == 1 {
			places[n%5] = true
		}
	}
	if len(places) != 5 {
		t.Errorf("every fifth call is at the places %v of five, want all", places)
	}
}
