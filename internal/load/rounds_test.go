package load

import (
	"context"
	"slices"
	"testing"
	"time"

	"rpclab/internal/pace"
)

func TestEachRoundIsATrialOfOneArm(t *testing.T) {
	s := validSettings()
	s.Target, s.Concurrency, s.Calls, s.Warmup, s.Rounds = greeter(t), 2, 30, 5, 4
	d := run(t, s)
	arm := d.Arms[0]
	if d.Rounds != 4 || d.TrialCount != 4 || d.Partial || len(d.Arms) != 1 || len(arm.Trials) != 4 || arm.Calls != 120 {
		t.Fatalf("%d rounds, %d arms, %d trials, %d calls, partial: %t; want 4 rounds of 30 calls in 4 trials of one arm", d.Rounds, len(d.Arms), len(arm.Trials), arm.Calls, d.Partial)
	}
	values, err := arm.Latency.Decode()
	if err != nil || values.TotalCount() != 120 {
		t.Errorf("the latency is of %d calls, %v; want those of all rounds", values.TotalCount(), err)
	}
	for i, trial := range arm.Trials {
		if trial.Round != i+1 || trial.Calls != 30 || trial.Started.Before(d.Started) || trial.Resources.Client.CPU <= 0 {
			t.Errorf("trial %d: %+v", i, trial)
		}
	}
}

func TestAnInterruptKeepsTheRoundsBeforeIt(t *testing.T) {
	s := validSettings()
	s.Target, s.Concurrency, s.Calls, s.Rounds = greeter(t), 2, 100, 1000
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live := NewProgress()
	go func() {
		for live.Snapshot().Round < 3 {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	d, err := load.Run(ctx, live)
	if n := len(d.Arms[0].Trials); err != nil || !d.Partial || d.Rounds != 1000 || n < 2 || n >= 1000 || d.Arms[0].Trials[1].Calls != 100 {
		t.Errorf("partial: %t, %d rounds planned, %d trials, %v; want a partial result with all 100 calls of round 2", d.Partial, d.Rounds, n, err)
	}
}

func TestEachRoundHasOtherRandomArrivals(t *testing.T) {
	var arrivals [][]time.Duration
	for round := range 3 {
		plan, err := with(func(s *Settings) { s.Rate, s.Poisson, s.Seed = 100, true, 7 }).ofRound(round).Pace()
		if err != nil {
			t.Fatal(err)
		}
		arrivals = append(arrivals, firstArrivals(plan))
	}
	for i, one := range arrivals {
		for _, other := range arrivals[:i] {
			if slices.Equal(one, other) {
				t.Errorf("calls of two rounds are due at %v, want other times in each round", one)
			}
		}
	}
}

func firstArrivals(plan pace.Pace) (all []time.Duration) {
	var due time.Duration
	for n := range uint64(10) {
		due, _ = plan.Next(n, due)
		all = append(all, due)
	}
	return all
}
