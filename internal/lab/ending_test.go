package lab

import (
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

func TestARunEndsEarlyOnlyAtALook(t *testing.T) {
	looks := []int{4, 6}
	for name, c := range map[string]struct {
		after int
		want  result.Ended
	}{"a look": {4, result.EndedDecided}, "no look": {5, ""}, "the last look": {6, result.EndedDecided}} {
		e := newEnding(looks, 6, 0, time.Unix(0, 0))
		if got := e.after(c.after, func() bool { return true }, time.Unix(1, 0)); got != c.want {
			t.Errorf("%s: the run ends: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheTimeLimitCutsNoRound(t *testing.T) {
	for name, c := range map[string]struct {
		took   []time.Duration // by round
		limit  time.Duration
		ends   result.Ended
		rounds int
	}{
		"six rounds fit, and not seven":     {[]time.Duration{9, 9, 9, 9, 9, 9, 9, 9}, 60, result.EndedTime, 6},
		"the slowest of the last three":     {[]time.Duration{5, 5, 5, 20, 5, 5, 5, 5}, 59, result.EndedTime, 5},
		"a slow start is forgotten":         {[]time.Duration{20, 5, 5, 5, 5, 5, 5, 5}, 60, result.EndedRounds, 8},
		"exactly at the limit":              {[]time.Duration{10, 10, 10, 10, 10, 10, 10}, 60, result.EndedTime, 6},
		"less than a verdict needs":         {[]time.Duration{30, 30, 30}, 60, result.EndedTime, 2},
		"one round is longer than the time": {[]time.Duration{90, 90}, 60, result.EndedTime, 1},
		"no limit":                          {[]time.Duration{90, 90}, 0, result.EndedRounds, 2},
	} {
		now := time.Unix(0, 0)
		e := newEnding(nil, len(c.took), c.limit*time.Second, now)
		for i, took := range c.took {
			now = now.Add(took * time.Second)
			if why := e.after(i+1, func() bool { return false }, now); why != "" {
				if why != c.ends || i+1 != c.rounds {
					t.Errorf("%s: ended by %s after %d rounds, want by %s after %d", name, why, i+1, c.ends, c.rounds)
				}
				break
			}
		}
	}
}

// Arms that take turns start once. Their start takes 6 s, and each round a second, so nine rounds fit into 15 s.
func TestTheStartOfArmsInTurnsIsNoPartOfARound(t *testing.T) {
	now := time.Unix(0, 0)
	e := newEnding(nil, 20, 15*time.Second, now)
	for n := 1; ; n++ {
		if n == 1 {
			now = now.Add(6 * time.Second)
		}
		e.started(now)
		now = now.Add(time.Second)
		if why := e.after(n, func() bool { return false }, now); why != "" {
			if why != result.EndedTime || n != 9 {
				t.Errorf("ended by %s after %d rounds, want by time after 9", why, n)
			}
			return
		}
	}
}

func TestTheProgressOfARunWithATimeLimitEndsWithIt(t *testing.T) {
	plan := experiment.Plan{Rounds: 100, Looks: []int{4, 100}, TimeLimit: 40 * time.Second, Trials: make([]experiment.Trial, 200)}
	p := newProgress(plan, time.Now(), nil)
	now := time.Unix(0, 0)
	if planned, left := p.rest(Progress{}, now); planned != 8 || left != 40*time.Second {
		t.Errorf("before the first trial: %d trials in %v, want the 8 of four rounds in 40s", planned, left)
	}
	p.first = now
	p.durations.all.add(4 * time.Second)
	if planned, left := p.rest(Progress{Trial: p.plan.Trials[0]}, now.Add(4*time.Second)); planned != 10 || left != 36*time.Second {
		t.Errorf("after 4 s: %d trials, %v left, want 10 and 36s", planned, left)
	}
}
