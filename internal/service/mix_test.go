package service_test

import (
	"testing"

	"rpclab/internal/service"
)

// TestAMixHasItsShares checks that consecutive calls have exactly the shares of their weights, and that the calls
// of each kind are numbered in their order.
func TestAMixHasItsShares(t *testing.T) {
	for _, weights := range [][]uint64{{1, 1}, {80, 20}, {8000, 1999, 1}, {3, 5, 9}, {1, 999_999}} {
		var calls []service.Spec
		sum := uint64(0)
		for _, w := range weights {
			calls, sum = append(calls, service.Spec{Weight: w}), sum+w
		}
		mix := service.NewMix(calls)
		const groups = 2
		next := make([]uint64, len(weights))
		for n := range groups * sum {
			kind, number := mix.Of(n)
			if number != next[kind] {
				t.Fatalf("weights %v: call %d is number %d of call %d, want %d", weights, n, number, kind, next[kind])
			}
			next[kind]++
		}
		for kind, w := range weights {
			if next[kind] != groups*w {
				t.Errorf("weights %v: %d of %d calls are call %d, want %d", weights, next[kind], groups*sum, kind, groups*w)
			}
		}
	}
}

func TestAMixOfOneCallNumbersItAsTheLoad(t *testing.T) {
	if kind, number := service.NewMix([]service.Spec{{}}).Of(7); kind != 0 || number != 7 {
		t.Errorf("call 7 is number %d of call %d", number, kind)
	}
}

// A block of a load has fewer calls than a call with a small share needs. If each block began anew, none would have it.
func TestAMixContinuesInTheNextLoad(t *testing.T) {
	mix := service.NewMix([]service.Spec{{Weight: 99}, {Weight: 1}})
	load := func(continues bool) (kinds [50]int) {
		mix.StartLoad(continues)
		for n := range kinds {
			kinds[n], _ = mix.Of(uint64(n))
		}
		return kinds
	}
	warmUp := load(false)
	if first := load(true); first != warmUp {
		t.Error("a load does not begin as the warm-up did")
	}
	seen, numbers := [2]int{}, map[[2]uint64]bool{}
	mix.StartLoad(false)
	for range 4 {
		mix.StartLoad(true)
		for n := range uint64(50) {
			kind, number := mix.Of(n)
			again, same := mix.Of(n)
			if again != kind || same != number {
				t.Fatalf("call %d is number %d of call %d, and number %d of call %d", n, number, kind, same, again)
			}
			seen[kind]++
			numbers[[2]uint64{uint64(kind), number}] = true
		}
	}
	if seen != [2]int{198, 2} || len(numbers) != 200 || !numbers[[2]uint64{0, 197}] || !numbers[[2]uint64{1, 1}] {
		t.Errorf("4 loads of 50 calls have %v calls of each kind with %d numbers, want 198 and 2, each with numbers from 0", seen, len(numbers))
	}
	if load(false) != warmUp {
		t.Error("a load that continues none does not begin anew")
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
