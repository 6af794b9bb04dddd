package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// verdicts compares, in every cell, each arm with the baseline or the arm in its field against, each
// control with the arm that it repeats, and each published arm with the arm without its confound.
//
// The pairs that answer the question are a family of tests with an error of 5 % in all; so are the
// controls, and the pairs of confounds. In a family each pair has an equal share of the error. It tests
// its headline metrics in their order with this whole share, because the next is tested only where
// the one before is settled. A control tests all of its headline metrics.
func verdicts(d result.Document) []result.Verdict {
	pairs := comparisons(d)
	headline, others := headline(d)
	tests, members := map[family]int{}, map[family]int{}
	for _, p := range pairs {
		tests[p.family()] += p.tests(headline)
		members[p.family()]++
	}
	inCell := map[string][]result.Arm{}
	for _, a := range d.Arms {
		cell := a.Key().Cell
		inCell[cell] = append(inCell[cell], a)
	}
	var all []result.Verdict
	for _, p := range pairs {
		around := p.others(inCell[p.a.Key().Cell])
		for _, m := range headline {
			if m.compared(p.a, p.b) {
				all = append(all, verdictOn(d, m, p, around, tests[p.family()]))
			}
		}
		for _, m := range others {
			if m.compared(p.a, p.b) {
				all = append(all, verdictOn(d, m, p, around, members[p.family()]))
			}
		}
	}
	doubtControls(all)
	testInOrder(all)
	return all
}

// family is a set of pairs that share an error of 5 %.
type family int

const (
	questions family = iota
	controls
	confounds
)

func (p comparison) family() family {
	switch p.kind {
	case result.OfControl:
		return controls
	case result.OfConfound:
		return confounds
	}
	return questions
}

// tests is how many shares of the family's error the pair needs.
func (p comparison) tests(headline []metric) (n int) {
	if n = compared(headline, p.a, p.b); p.family() != controls {
		return min(n, 1)
	}
	return n
}

// testInOrder leaves a headline verdict undecided if an earlier headline metric of its pair is not settled.
func testInOrder(all []result.Verdict) {
	type pair struct{ a, b, cell string }
	open := map[pair]string{} // the first metric that is not settled
	for i := range all {
		v := &all[i]
		if v.Secondary || v.Kind == result.OfControl {
			continue
		}
		key := pair{v.A, v.B, v.Cell.Key()}
		before, isOpen := open[key]
		switch {
		case v.Unfit:
		case isOpen:
			why := reason{"not tested: " + metric{name: before}.short() + " is not settled", result.Cause{Kind: result.CauseNotTested, Metric: before}}
			v.Decision, v.Reason, v.Cause = string(verdict.Undecided), why.text, why.fields()
		case !settled(*v):
			open[key] = v.Metric
		}
	}
}

// settled says that a verdict is decided, or that no number of rounds can decide it.
func settled(v result.Verdict) bool { return v.Unfit || v.Decision != string(verdict.Undecided) }

// verdictOn compares two arms on one metric. others are arms of the same cell. tests is how many verdicts share
// the 5 % error.
func verdictOn(d result.Document, m metric, p comparison, others []result.Arm, tests int) result.Verdict {
	o := verdict.Options{
		Family: tests, Share: verdict.ErrorShare(d.Looks, min(lastRound(p.a), lastRound(p.b))), Margin: d.Margin,
		Seed: experiment.Seed(d.Seed, "verdict"), LowerIsBetter: !m.higher,
	}
	pair, others, cycles := inGroups(m, []result.Arm{p.a, p.b}, others, 1)
	p.a, p.b = pair[0], pair[1]
	value := m.between(p.a, p.b)
	values := paired(p.a, p.b, value)
	o.Consecutive = cycles > 0
	for _, arm := range others {
		o.Others = append(o.Others, alongside(p.a, p.b, arm, value))
	}
	compare, doubts := verdict.Compare, verdict.Doubts
	if m.byRank {
		compare, doubts = verdict.CompareRanks, noDoubts
	}
	v := compare(values, o)
	why := reasonOf(v.Reason, v.Cause)
	r := result.Verdict{
		Metric: m.name, A: p.a.Name, B: p.b.Name, Cell: p.a.Cell, Kind: p.kind, Secondary: !m.headline,
		Ratio: v.Ratio, CI: v.CI, Level: v.Level, Decision: string(v.Decision), Rounds: v.Rounds, Cycles: cycles,
		Bound: m.bound(p.a, p.b), PRanks: ranks(values),
		Unfit: v.Ratio == 0 && len(values) > 0, // a value is missing
	}
	if m.headline {
		r.Power = powerOf(v.Precision(o))
	}
	for _, doubt := range doubts(values, v, o) {
		if doubt.Decisive {
			r.Decision, why = string(verdict.Undecided), reasonOf(doubt.Text, verdict.Cause{Kind: doubt.Kind})
		} else {
			r.Notes = append(r.Notes, doubt.Text)
		}
	}
	unfit := unfitPair(m, d, p.a, p.b)
	if unfit.text == "" {
		unfit = lowerBounds(m, p.a, p.b, r.Decision)
	}
	if unfit.text != "" {
		if why.text != v.Reason { // a decisive doubt
			r.Notes = append(r.Notes, why.text)
		}
		r.Decision, why, r.Unfit = string(verdict.Undecided), unfit, true
	}
	r.Reason, r.Cause = why.text, why.fields()
	return r
}

// maxOthers is the largest number of other arms that show the noise of a pair. More arms add little, and the
// time for all pairs would grow with the square of the arms.
const maxOthers = 10

// others returns arms of the pair's cell that are not of the pair.
func (p comparison) others(inCell []result.Arm) (others []result.Arm) {
	for _, arm := range inCell {
		if len(others) == maxOthers {
			break
		}
		if arm.Name != p.a.Name && arm.Name != p.b.Name {
			others = append(others, arm)
		}
	}
	return others
}

// noDoubts returns no doubts, for trials that are compared by their order: a trial that differs from the others
// weighs no more than they do.
func noDoubts([]verdict.Pair, verdict.Verdict, verdict.Options) []verdict.Doubt { return nil }

// lastRound returns the number of rounds of an arm.
func lastRound(a result.Arm) (n int) {
	for _, t := range a.Trials {
		n = max(n, t.Round)
	}
	return n
}

// usualPower is the probability with which a run should detect a difference.
const usualPower = 0.8

// powerOf returns the differences that a comparison detects; nil: not known.
func powerOf(p verdict.Precision) *result.Power {
	if p.Rounds < verdict.MinRounds || !(p.Freedom > 0) {
		return nil
	}
	return &result.Power{Ratio50: p.Ratio(0.5), Ratio80: p.Ratio(usualPower), Ratio95: p.Ratio(0.95), Error: p.Error, Freedom: p.Freedom}
}

// ranks returns the p-value of the Mann-Whitney U test; 0: a value is missing.
func ranks(pairs []verdict.Pair) float64 {
	var a, b []float64
	for _, p := range pairs {
		if math.IsNaN(p.A + p.B) {
			return 0
		}
		a, b = append(a, p.A), append(b, p.B)
	}
	if len(a) == 0 {
		return 0
	}
	return verdict.RankSum(a, b)
}

type comparison struct {
	a, b result.Arm
	kind result.VerdictKind
}

func comparisons(d result.Document) []comparison {
	var all []comparison
	controlled, reference := map[string][]string{}, map[string]bool{}
	for _, c := range d.Confounds {
		controlled[c.Published] = append(controlled[c.Published], c.Controlled)
	}
	place := make(map[result.ArmKey]int, len(d.Arms))
	for i, a := range d.Arms {
		place[a.Key()] = i
		reference[a.Against] = true
	}
	for _, a := range d.Arms {
		var others []int
		for _, name := range append([]string{a.Control, a.Against, d.Baseline}, controlled[a.Name]...) {
			if i, known := place[result.ArmKey{Name: name, Cell: a.Key().Cell}]; known && name != a.Name {
				others = append(others, i)
			}
		}
		slices.Sort(others)
		for _, i := range slices.Compact(others) {
			b := d.Arms[i]
			switch {
			case a.Control == b.Name:
				all = append(all, comparison{a, b, "control"})
			case a.Control == "" && a.Against == b.Name && b.Name != d.Baseline:
				all = append(all, comparison{a, b, "against"})
			case a.Control == "" && cmp.Or(a.Against, d.Baseline) == b.Name && (a.Against != "" || !reference[a.Name]): // a reference is compared with no other arm
				all = append(all, comparison{a, b, "baseline"})
			case slices.Contains(controlled[a.Name], b.Name):
				all = append(all, comparison{a, b, "confound"})
			}
		}
	}
	return all
}

// paired returns the values of both arms in each round that has both. The value of a failed trial is NaN, so
// that the comparison reports it and does not leave it out.
func paired(a, b result.Arm, of func(result.Trial) float64) []verdict.Pair {
	as, bs := byRound(a, of), byRound(b, of)
	var pairs []verdict.Pair
	for _, t := range a.Trials {
		// A round that the run did not finish is not a pair.
		if _, both := bs[turnOf(t)]; both {
			pairs = append(pairs, verdict.Pair{A: as[turnOf(t)], B: bs[turnOf(t)]})
		}
	}
	return pairs
}

// alongside returns the values of a third arm in the rounds of a pair; NaN: it has no value.
func alongside(a, b, third result.Arm, of func(result.Trial) float64) (values []float64) {
	bs, thirds := byRound(b, of), byRound(third, of)
	for _, t := range a.Trials {
		if _, both := bs[turnOf(t)]; both {
			value, has := thirds[turnOf(t)]
			if !has {
				value = math.NaN()
			}
			values = append(values, value)
		}
	}
	return values
}

// turn is a round of a group of arms.
type turn struct{ round, group int }

func turnOf(t result.Trial) turn { return turn{t.Round, t.Group} }

// byRound returns the values of an arm by round and group; NaN: the trial failed.
func byRound(arm result.Arm, of func(result.Trial) float64) map[turn]float64 {
	values := map[turn]float64{}
	for _, t := range arm.Trials {
		values[turnOf(t)] = math.NaN()
		if t.Failed == "" {
			values[turnOf(t)] = of(t)
		}
	}
	return values
}

// doubtControls makes a metric undecided in every cell in which a control differs from the arm that it repeats:
// the run found a difference where there is none.
func doubtControls(all []result.Verdict) {
	type metricInCell struct{ metric, cell string }
	falsePositive := map[metricInCell]reason{}
	for _, v := range all {
		if v.Kind == "control" && (v.Decision == string(verdict.Better) || v.Decision == string(verdict.Worse)) {
			text := fmt.Sprintf("the control %s, which repeats %s, differs from it too (ratio %.3g): run again with more rounds", v.A, v.B, v.Ratio)
			falsePositive[metricInCell{v.Metric, v.Cell.Key()}] = reason{text, result.Cause{Kind: result.CauseControl, Arm: v.A}}
		}
	}
	for i := range all {
		why, found := falsePositive[metricInCell{all[i].Metric, all[i].Cell.Key()}]
		if found && all[i].Kind != "control" && all[i].Decision != string(verdict.Undecided) {
			all[i].Decision, all[i].Reason, all[i].Cause = string(verdict.Undecided), why.text, why.fields()
		}
	}
}
