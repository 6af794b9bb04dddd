package lab

import (
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// estimate guesses how long trials take from those that ran: one by those of the same arm
// in the same cell, else by all.
type estimate struct {
	began time.Time // the trial that runs now
	of    map[string]spent
	all   spent
}

// spent is the time of some trials together, with what goes before and after their loads.
type spent struct {
	sum time.Duration
	n   int
}

func (t *spent) add(d time.Duration) { t.sum, t.n = t.sum+d, t.n+1 }

func (t spent) mean() time.Duration { return t.sum / time.Duration(max(t.n, 1)) }

func kind(t experiment.Trial) string { return t.Arm + "\n" + result.Cell(t.Cell).Key() }

// saw takes that a trial begins, or that it ended.
func (e *estimate) saw(p Progress, now time.Time) {
	switch {
	case p.Ended != nil:
		if e.of == nil {
			e.of = map[string]spent{}
		}
		of := e.of[kind(p.Trial)]
		of.add(now.Sub(e.began))
		e.of[kind(p.Trial)] = of
		e.all.add(now.Sub(e.began))
	case p.Doing == "":
		e.began = now
	}
}

// left is how long the rest of the plan will take. While nothing has ended, it is known of
// loads that say how long they are.
func (e *estimate) left(plan experiment.Plan, p Progress, now time.Time) (rest time.Duration) {
	for _, t := range plan.Trials[p.Trial.Order:] {
		expected := e.expects(t)
		if expected == 0 {
			return 0
		}
		if t.Order == p.Trial.Order {
			if p.Ended != nil {
				continue
			}
			expected = max(expected-now.Sub(e.began), 0)
		}
		rest += expected
	}
	return rest
}

// expects is how long a trial will take; 0: who knows.
func (e *estimate) expects(t experiment.Trial) time.Duration {
	if same, ok := e.of[kind(t)]; ok {
		return same.mean()
	}
	load := t.Config.Load
	switch {
	case load.Open != nil:
		return load.Open.Duration
	case load.Closed != nil && load.Closed.Calls == 0:
		return load.Closed.Duration
	}
	return e.all.mean()
}
