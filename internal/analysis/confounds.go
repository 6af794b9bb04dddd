package analysis

import (
	"cmp"
	"fmt"
	"slices"

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
			baseline, there := arms[result.ArmKey{Name: cmp.Or(published.Against, d.Baseline), Cell: cell}]
			other, also := arms[result.ArmKey{Name: cmp.Or(controlled.Against, d.Baseline), Cell: cell}]
			if !known || !there || !also || published.Name == baseline.Name {
				continue
			}
			a := result.Account{Published: published.Name, Controlled: controlled.Name, Baseline: baseline.Name, Cell: published.Cell, Metric: gapMetric(published)}
			if other.Name != baseline.Name && controlled.Name != baseline.Name {
				a.ControlledBaseline = other.Name
			}
			all = append(all, a)
		}
	}
	family := 0
	for _, a := range all {
		if a.Controlled != a.Baseline { // else nothing can remain
			family++
		}
	}
	for i := range all {
		fillAccount(&all[i], d, arms, max(family, 1))
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
	for _, name := range []string{a.Published, a.Controlled, a.Baseline, a.ControlledBaseline} {
		if name != "" {
			of = append(of, arms[result.ArmKey{Name: name, Cell: a.Cell.Key()}])
		}
	}
	rounds := lastRound(of[0])
	of, _, cycles := inGroups(m, of, nil, 1)
	for _, arm := range of {
		if a.Reason == "" {
			a.Reason = unfitArm(m, d, arm).text
		}
		if a.Reason == "" && arm.Name != a.Baseline {
			a.Reason = coarseClock(m, d.Machine.ClockNS, arm, of[2]).text
		}
		if late := m.raised(arm); a.Reason == "" && late.most > 0 { // its interval does not allow for that
			a.Reason = fmt.Sprintf("the load generator was the bottleneck in %s: %s", arm.Name, late.first)
		}
		if a.Reason == "" && m.bounded(arm) {
			a.Reason = fmt.Sprintf("%.1f %% of the calls of %s were lost, so its latency is only known to be longer", 100*arm.Lost(), arm.Name)
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

// triples are the values of a published arm, its controlled arm and the baseline in every round (or group of cycles)
// that all arms have; NaN: a trial failed. A round that the run did not finish is left out. With a fourth arm, the
// baseline of the controlled arm, they are as if the controlled arm had its distance from that arm to the baseline.
func triples(arms []result.Arm, of func(result.Trial) float64) (all []verdict.Triple) {
	var values []map[turn]float64
	for _, arm := range arms {
		values = append(values, byRound(arm, of))
	}
	for _, t := range arms[0].Trials {
		at := turnOf(t)
		if slices.ContainsFunc(values, func(of map[turn]float64) bool { _, has := of[at]; return !has }) {
			continue
		}
		one := verdict.Triple{Published: values[0][at], Controlled: values[1][at], Baseline: values[2][at]}
		if len(arms) > 3 {
			one.Controlled += one.Baseline - values[3][at]
		}
		all = append(all, one)
	}
	return all
}
