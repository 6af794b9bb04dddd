package analysis

import (
	"math"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// accounts say, for every confound in every cell, how much of the published gap remains
// without the confound.
func accounts(d result.Document) []result.Account {
	var all []result.Account
	arms := d.ArmsByKey()
	for _, c := range d.Confounds {
		for _, published := range d.Arms {
			if published.Name != c.Published {
				continue
			}
			cell := published.Cell.Key()
			controlled, known := arms[result.ArmKey{Name: c.Controlled, Cell: cell}]
			baseline, there := arms[result.ArmKey{Name: d.Baseline, Cell: cell}]
			if known && there && published.Name != baseline.Name {
				all = append(all, result.Account{
					Published: published.Name, Controlled: controlled.Name, Baseline: baseline.Name,
					Cell: published.Cell, Metric: gapMetric(published),
				})
			}
		}
	}
	for i := range all {
		fillAccount(&all[i], d, arms, len(all))
	}
	return all
}

// gapMetric is the metric of the published gap: the elapsed time of a fixed number of calls, or the
// median latency of a load with a fixed duration.
func gapMetric(a result.Arm) string {
	load := a.Settings().Load
	if load == nil || load.Burst != nil || load.Sequence != nil || load.Closed.Calls != nil && load.Closed.Duration == nil {
		return "elapsed"
	}
	return "latency_p50"
}

// fillAccount fills in the figures of an account. family is how many accounts share the 5 % error.
func fillAccount(a *result.Account, d result.Document, arms map[result.ArmKey]result.Arm, family int) {
	m := metric{name: "elapsed", answers: true, of: func(t result.Trial) float64 { return t.ElapsedMS }}
	if a.Metric == "latency_p50" {
		m = metrics[0]
	}
	var of []result.Arm
	for _, name := range []string{a.Published, a.Controlled, a.Baseline} {
		of = append(of, arms[result.ArmKey{Name: name, Cell: a.Cell.Key()}])
	}
	rounds := lastRound(of[0])
	of, _, cycles := inGroups(m, of, nil, 1)
	for _, arm := range of {
		if a.Reason == "" {
			a.Reason = unfitArm(m, d, arm).text
		}
	}
	all := triples(of, m.of)
	r := verdict.RemainingGap(all, verdict.Options{Family: family, Share: verdict.ErrorShare(d.Looks, rounds), Consecutive: cycles > 0})
	a.GapMS, a.Remains, a.Level, a.Cycles = r.Gap, r.Share, r.Level, cycles
	if a.Metric == "elapsed" && cycles > 0 { // a round takes as long as its groups together
		a.GapMS *= float64(len(all)) / float64(rounds)
	}
	if a.Reason == "" {
		a.Reason, a.CI = r.Reason, r.CI
	}
}

// triples are the values of three arms in every round (or group of cycles) that any of them has; NaN: none.
func triples(arms []result.Arm, of func(result.Trial) float64) (all []verdict.Triple) {
	place := map[turn]int{}
	inGroup := map[int]bool{} // of the published arm; the baseline is in all
	for _, t := range arms[0].Trials {
		inGroup[t.Group] = true
	}
	for i, arm := range arms {
		for _, t := range arm.Trials {
			if !inGroup[t.Group] && t.Group > 0 {
				continue
			}
			at, known := place[turnOf(t)]
			if !known {
				at = len(all)
				place[turnOf(t)] = at
				all = append(all, verdict.Triple{Published: math.NaN(), Controlled: math.NaN(), Baseline: math.NaN()})
			}
			if value := [3]*float64{&all[at].Published, &all[at].Controlled, &all[at].Baseline}[i]; t.Failed == "" {
				*value = of(t)
			}
		}
	}
	return all
}
