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
	m := metric{answers: true, of: func(t result.Trial) float64 { return t.ElapsedMS }}
	if a.Metric == "latency_p50" {
		m = metrics[0]
	}
	byRound := map[int]*verdict.Triple{}
	var order []int
	for i, name := range []string{a.Published, a.Controlled, a.Baseline} {
		arm := arms[result.ArmKey{Name: name, Cell: a.Cell.Key()}]
		if a.Reason == "" {
			a.Reason = unfitArm(m, d, arm).text
		}
		for _, t := range arm.Trials {
			if byRound[t.Round] == nil {
				byRound[t.Round] = &verdict.Triple{Published: math.NaN(), Controlled: math.NaN(), Baseline: math.NaN()}
				order = append(order, t.Round)
			}
			if of := [3]*float64{&byRound[t.Round].Published, &byRound[t.Round].Controlled, &byRound[t.Round].Baseline}[i]; t.Failed == "" {
				*of = m.of(t)
			}
		}
	}
	var rounds []verdict.Triple
	for _, round := range order {
		rounds = append(rounds, *byRound[round])
	}
	r := verdict.RemainingGap(rounds, verdict.Options{Family: family, Share: verdict.ErrorShare(d.Looks, len(rounds))})
	a.GapMS, a.Remains, a.Level = r.Gap, r.Share, r.Level
	if a.Reason == "" {
		a.Reason, a.CI = r.Reason, r.CI
	}
}
