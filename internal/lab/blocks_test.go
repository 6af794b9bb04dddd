package lab

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
)

func TestNumberOfBlocksOfALoad(t *testing.T) {
	for _, c := range []struct {
		load experiment.Load
		seen part
		want int
	}{
		{experiment.Load{Burst: 1000}, part{time.Minute, 1000}, 1},
		{experiment.Load{Open: &experiment.Open{Rate: 1000, Duration: 2 * time.Second}}, part{}, 20}, // of the minimum length
		{experiment.Load{Open: &experiment.Open{Rate: 100, Duration: 10 * time.Second}}, part{}, 20}, // of 50 calls
		{experiment.Load{Open: &experiment.Open{Rate: 20, Duration: 10 * time.Second}}, part{}, 5},   // of the maximum length
		{experiment.Load{Open: &experiment.Open{Rate: 1000, Duration: time.Minute}}, part{}, maxBlocks},
		{experiment.Load{Open: &experiment.Open{Rate: 20, Duration: 100 * time.Millisecond}}, part{}, 1},
		{experiment.Load{Closed: &experiment.Closed{Users: 3, Duration: 2 * time.Second}}, part{}, 20},
		{experiment.Load{Closed: &experiment.Closed{Users: 3, Duration: 2 * time.Second}}, part{100 * time.Millisecond, 150}, 20},
		{experiment.Load{Closed: &experiment.Closed{Users: 3, Duration: 2 * time.Second}}, part{102 * time.Millisecond, 12}, 5}, // of 50 calls
		{experiment.Load{Closed: &experiment.Closed{Users: 3, Duration: 2 * time.Second}}, part{time.Second, 3}, 1},             // of the maximum length
		{experiment.Load{Closed: &experiment.Closed{Users: 20, Calls: 150}}, part{10 * time.Second, 150}, 3},
		{experiment.Load{Closed: &experiment.Closed{Users: 200, Calls: 450}}, part{10 * time.Second, 450}, 2}, // each user has a call
		{experiment.Load{Sequence: 10_000}, part{100 * time.Millisecond, 500}, 20},
		{experiment.Load{Sequence: 10_000}, part{time.Millisecond, 10_000}, 1},
		{experiment.Load{Sequence: 130}, part{time.Hour, 130}, 2},
		{experiment.Load{Sequence: 1_000_000}, part{10 * time.Hour, 1_000_000}, maxBlocks},
	} {
		if got := blockCount(c.load, c.seen); got != c.want {
			t.Errorf("%s, of which %+v was seen: %d blocks, want %d", c.load, c.seen, got, c.want)
		}
	}
}

// Loads of a cell that differ have as many blocks. In each, a burst would be whole, a user without a call would not start, and
// users of slow calls would call at once instead of one after the other.
func TestALoadIsNotDividedFurtherThanItsUsersAllow(t *testing.T) {
	for _, c := range []struct {
		load experiment.Load
		seen part
		want int
	}{
		{experiment.Load{Burst: 1000}, part{}, 1},
		{experiment.Load{Sequence: 7}, part{}, 7},
		{experiment.Load{Sequence: 7000}, part{}, maxBlocks},
		{experiment.Load{Closed: &experiment.Closed{Users: 20, Calls: 150}}, part{}, 7},
		{experiment.Load{Closed: &experiment.Closed{Users: 20, Calls: 10}}, part{}, 1},
		{experiment.Load{Open: &experiment.Open{Rate: 20, Duration: 10 * time.Second}}, part{}, maxBlocks},
		{experiment.Load{Closed: &experiment.Closed{Users: 10, Duration: 4 * time.Second}}, part{}, maxBlocks},
		{experiment.Load{Closed: &experiment.Closed{Users: 10, Duration: 4 * time.Second}}, part{100 * time.Millisecond, 500}, 40},
		{experiment.Load{Closed: &experiment.Closed{Users: 10, Duration: 4 * time.Second}}, part{200 * time.Millisecond, 10}, 4}, // five calls of each user take a second
		{experiment.Load{Closed: &experiment.Closed{Users: 10, Duration: 4 * time.Second, Think: 400 * time.Millisecond}}, part{2 * time.Millisecond, 10}, 2},
	} {
		if got := mostBlocks(c.load, c.seen); got != c.want {
			t.Errorf("%s, of which %+v was seen: at most %d blocks, want %d", c.load, c.seen, got, c.want)
		}
	}
}

// The blocks of a load have all its calls and its time, and random arrivals of their own.
func TestBlocksMakeUpTheLoad(t *testing.T) {
	whole := pace.Spec{Closed: &pace.Closed{Users: 2, Calls: 100}}
	calls := uint64(0)
	for i := range 7 {
		calls += blockOf(whole, i, 7).Closed.Calls
	}
	if calls != 100 || whole.Closed.Calls != 100 {
		t.Errorf("%d calls in all blocks", calls)
	}
	rate := pace.Spec{Rate: &pace.Rate{PerSecond: 5, Duration: 8 * time.Second, Poisson: true, Seed: 1}}
	first, second := blockOf(rate, 0, 4), blockOf(rate, 1, 4)
	if first.Rate.Duration != 2*time.Second || first.Rate.Seed == second.Rate.Seed || rate.Rate.Duration != 8*time.Second {
		t.Errorf("blocks %+v and %+v", first.Rate, second.Rate)
	}
	for _, c := range []struct {
		perSecond float64
		whole     time.Duration
		blocks    int
	}{{333, 5 * time.Second, 33}, {1.2, 10 * time.Second, 5}, {0.1, 60 * time.Second, 30}, {1000, 2 * time.Second, 20}} {
		calls := 0
		for i := range c.blocks {
			for caller := range 2 {
				share := blockOf(pace.Spec{Rate: &pace.Rate{PerSecond: c.perSecond, Duration: c.whole, Max: 10}}, i, c.blocks).Share(caller, 2).Rate
				for n := uint64(0); ; n++ {
					if _, more := share.Next(n, 0); !more {
						break
					}
					calls++
				}
			}
		}
		if want := int(math.Round(c.perSecond * c.whole.Seconds())); calls != want {
			t.Errorf("%g calls/s for %s in %d blocks are %d calls, want %d", c.perSecond, c.whole, c.blocks, calls, want)
		}
	}
}

// Users who think call as seldom in blocks as in one piece. If all of them began each block with a call, they would make one
// call more in each.
func TestUsersWhoThinkCallAsOftenInBlocks(t *testing.T) {
	whole := pace.Spec{Closed: &pace.Closed{Users: 50, Think: 200 * time.Millisecond, Duration: 20 * time.Second}}
	for _, blocks := range []int{10, maxBlocks} {
		calls := 0
		for i := range blocks {
			block := *blockOf(whole, i, blocks).Closed
			for user := range block.Users {
				const service = 2 * time.Millisecond
				for due, more := block.Next(0, block.First(user)); more; due, more = block.Next(0, due+service) {
					calls++
				}
			}
		}
		if rate := float64(calls) / 20; rate < 243 || rate > 253 {
			t.Errorf("%.0f calls/s in %d blocks, want 50 users every 202 ms: 248", rate, blocks)
		}
	}
}

// A number of calls takes as long in blocks as in one piece.
func TestUsersWhoThinkTakeTheirTimeInBlocks(t *testing.T) {
	whole := pace.Spec{Closed: &pace.Closed{Users: 100, Think: time.Second, Calls: 3000}}
	const blocks, service = 30, 2 * time.Millisecond
	var took time.Duration
	for i := range blocks {
		block := *blockOf(whole, i, blocks).Closed
		var due []time.Duration // of each user's next call
		for user := range block.Users {
			due = append(due, -block.First(user))
		}
		var last time.Duration
		for range block.Calls {
			next := slices.Index(due, slices.Min(due))
			last = due[next] + service
			due[next] = last + block.Think
		}
		took += last
	}
	if took < 28*time.Second || took > 32*time.Second {
		t.Errorf("30 blocks take %v, want about the 30 s of 3,000 calls at 100/s", took)
	}
}

// In two cycles each arm has the same mean place.
func TestTurnsAreBalancedAndRandom(t *testing.T) {
	turns := newTurns(1, 5)
	seen := map[string]bool{}
	for range 20 {
		first, second := slices.Clone(turns.next()), turns.next()
		seen[fmt.Sprint(first)] = true
		for arm := range 5 {
			if slices.Index(first, arm)+slices.Index(second, arm) != 4 {
				t.Fatalf("arm %d in %v and %v", arm, first, second)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d orders in 20 pairs of cycles", len(seen))
	}
}

func TestIdleCPUTimeIsThatOutsideOfTheArmsTurns(t *testing.T) {
	cpu := 10 * time.Second
	w := newIdleWatch([]func() (time.Duration, bool){func() (time.Duration, bool) { return cpu, true }, func() (time.Duration, bool) { return 0, false }})
	w.began = time.Now().Add(-time.Minute)
	end := w.turn(0)
	cpu += 3 * time.Second
	end()
	w.timeInTurns[0] = 30 * time.Second
	cpu += 15 * time.Second
	if got := w.share(0); got == nil || *got < 0.49 || *got > 0.51 {
		t.Errorf("share %v, want 15 s of 30 s", got)
	}
	if w.share(1) != nil {
		t.Error("a share of unknown CPU time")
	}
	if _, known := w.total(); known {
		t.Error("a total of unknown CPU time")
	}
}

// A rehearsal is a short part of a load, except of a burst, whose calls are due at once.
func TestARehearsalIsOneBlock(t *testing.T) {
	for _, c := range []struct {
		load experiment.Load
		want int
	}{
		{experiment.Load{Burst: 1000}, 1},
		{experiment.Load{Sequence: 10_000}, 20},
		{experiment.Load{Sequence: 7}, 7},
		{experiment.Load{Closed: &experiment.Closed{Users: 20, Calls: 50}}, 2},
		{experiment.Load{Open: &experiment.Open{Rate: 1000, Duration: 2 * time.Second}}, 20},
	} {
		if got := rehearsals(c.load); got != c.want {
			t.Errorf("%s: the first of %d blocks, want %d", c.load, got, c.want)
		}
	}
}
