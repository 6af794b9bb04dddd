package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	byCell := armsByCell(d)
	var all []result.Verdict
	for _, p := range pairs {
		inCell := byCell[p.a.Key().Cell]
		for _, m := range headline {
			if m.compared(p.a, p.b) {
				all = append(all, verdictOn(d, m, p, inCell, tests[p.family()]))
			}
		}
		for _, m := range others {
			if m.compared(p.a, p.b) {
				all = append(all, verdictOn(d, m, p, inCell, members[p.family()]))
			}
		}
	}
	doubtControls(all)
	testInOrder(all)
	return all
}

// armsByCell returns the arms of each cell that comparisons need, by its key: all controls, and so many other arms that
// each pair finds maxOthers. With all arms, the time for all pairs would grow with their square.
func armsByCell(d result.Document) map[string][]result.Arm {
	inCell := map[string][]result.Arm{}
	for _, a := range d.Arms {
		if cell := a.Key().Cell; a.Control != "" || len(inCell[cell]) < maxOthers+2 {
			inCell[cell] = append(inCell[cell], a)
		}
	}
	return inCell
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

// settled says that a verdict is decided, or that no number of rounds can decide it. More cycles make larger groups, so
// they can decide one of groups with too few calls.
func settled(v result.Verdict) bool {
	smallGroups := v.Cycles > 0 && v.Cause != nil && v.Cause.Kind == result.CauseCalls
	return v.Unfit && !smallGroups || v.Decision != string(verdict.Undecided)
}

// verdictOn compares two arms on one metric. inCell are the arms of their cell. tests is how many verdicts share
// the 5 % error.
func verdictOn(d result.Document, m metric, p comparison, inCell []result.Arm, tests int) result.Verdict {
	o := verdict.Options{
		Family: tests, Share: verdict.ErrorShare(d.Looks, min(lastRound(p.a), lastRound(p.b))), Margin: d.Margin,
		Seed: experiment.DeriveSeed(d.Seed, "verdict"), LowerIsBetter: !m.higher,
	}
	cut := m.cutOff(p.a, p.b)
	p, repeats, others, cycles := p.inGroups(d, m, inCell)
	value := m.between(p.a, p.b)
	values, names := averaged(paired(p.a, p.b, value), p, repeats, value)
	o.Consecutive, o.Whole = cycles > 0 || tookTurns(p.a), cycles == 0
	arms, late := []result.Arm{p.a, p.b}, []raise{m.raised(p.a), m.raised(p.b)}
	for _, arm := range repeats { // the second value is their mean
		if r := m.raised(arm); slices.Contains(names, arm.Name) && r.most > late[1].most {
			arms[1], late[1] = arm, r
		}
	}
	o.Raised = [2]float64{late[0].within(d.Margin) + cut[1], late[1].within(d.Margin) + cut[0]}
	if m.alone {
		others = nil
	}
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
		Unfit:   v.Ratio == 0 && len(values) > 0, // a value is missing
		Repeats: names,
	}
	for i, arm := range arms {
		if late[i].within(d.Margin) > 0 {
			r.Notes = append(r.Notes, late[i].note(m, arm, cycles))
		}
		if cut[i] > 0 {
			r.Notes = append(r.Notes, cut.note(arm, i))
		}
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
		unfit = notKnown(m, p.a, p.b)
	}
	if unfit.text == "" {
		unfit = lowerBounds(m, p.a, p.b, r.Decision)
	}
	if unfit.text == "" {
		unfit = oneProcess(m, p.a)
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

// notKnown says of which arms no round has a value of the metric, such as the CPU time of a server that rpclab did not start.
func notKnown(m metric, arms ...result.Arm) reason {
	var without []string
	for _, arm := range arms {
		if m.unknownOf(arm) {
			without = append(without, arm.Name)
		}
	}
	if len(without) == 0 {
		return reason{}
	}
	return reason{fmt.Sprintf("%s of %s is not known", m.experimentName(), strings.Join(without, " and ")), result.Cause{Kind: result.CauseValue}}
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
	return &result.Power{Ratio50: p.Ratio(0.5), Ratio80: p.Ratio(usualPower), Ratio95: p.Ratio(0.95), Error: p.Error, Freedom: p.Freedom, Raised: p.Raised}
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

// doubtControls makes a metric undecided in every cell in which a control differs from the arm that it repeats:
// the run found a difference where there is none.
func doubtControls(all []result.Verdict) {
	type metricInCell struct{ metric, cell string }
	found := map[metricInCell]reason{}
	for _, v := range all {
		if isFalsePositive(v) {
			found[metricInCell{v.Metric, v.Cell.Key()}] = falsePositive(v)
		}
	}
	for i := range all {
		why, doubted := found[metricInCell{all[i].Metric, all[i].Cell.Key()}]
		if doubted && all[i].Kind != "control" && all[i].Decision != string(verdict.Undecided) {
			all[i].Decision, all[i].Reason, all[i].Cause = string(verdict.Undecided), why.text, why.fields()
		}
	}
}

// isFalsePositive reports whether a control differs from the arm that it repeats.
func isFalsePositive(v result.Verdict) bool {
	return v.Kind == result.OfControl && (v.Decision == string(verdict.Better) || v.Decision == string(verdict.Worse))
}

// falsePositive is the reason that the verdict on a control gives to doubt others.
func falsePositive(v result.Verdict) reason {
	text := fmt.Sprintf("the control %s, which repeats %s, differs from it too (ratio %.3g): run again with more rounds", v.A, v.B, v.Ratio)
	return reason{text, result.Cause{Kind: result.CauseControl, Arm: v.A}}
}
