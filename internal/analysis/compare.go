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

// CompareOptions are the options of [Compare].
type CompareOptions struct {
	Gates []Gate
	// Allow lists the paths of settings that may differ although they change what an arm
	// measures; "experiment", "quick" and "busy" (machines) are allowed too.
	Allow []string
}

// MayBeAllowed lists what [CompareOptions] can allow. Settings have paths, such as workload.greet.delay.
func MayBeAllowed() []string { return append([]string{"experiment", "quick", "busy"}, decisive...) }

// Compare compares run b with an earlier run a. Their trials (or groups of cycles, if arms took turns) are samples
// of their own, since every difference includes what changed between the runs. Arms are compared with those of
// the same name and cell, unless settings differ that change what an arm measures. The headline metrics of the
// experiment share the 5 % error equally: each may show a regression of its own.
func Compare(a, b result.Document, o CompareOptions) result.Comparison {
	c := result.Comparison{Schema: result.ComparisonSchema, A: comparedRun(a), B: comparedRun(b), Margin: largerMargin(a, b)}
	var pairs []armPair
	pairs, c.Refused = pairsOf(a, b)
	comparable := pairs[:0:0]
	for _, p := range pairs {
		if why := incomparable(a, b, p, o.Allow); why != "" {
			c.Refused = append(c.Refused, result.Refusal{Arm: p.name(), Cell: p.a.Cell, Reason: why})
			continue
		}
		comparable = append(comparable, p)
	}
	c.Differences = differences(a, b, comparable)
	others, warnings, busy := busyRuns(a, b, comparable)
	c.A.Others, c.B.Others, c.Warnings = others[0], others[1], warnings
	if a.Partial && b.Partial { // one alone is a difference
		c.Warnings = append(c.Warnings, "A and B are partial: both were interrupted")
	}
	if !slices.Contains(o.Allow, "busy") {
		for i := range comparable {
			comparable[i].busy = busy
		}
	}
	answering, other := headlineOfRuns(a, b)
	tests := 0
	for _, p := range comparable {
		tests += compared(answering, p.a, p.b)
	}
	for _, p := range comparable {
		for _, m := range slices.Concat(answering, other) {
			if m.compared(p.a, p.b) {
				family := len(comparable)
				if m.headline {
					family = tests
				}
				c.Ratios = append(c.Ratios, p.ratio(m, a, b, family))
			}
		}
		for _, g := range o.Gates {
			c.Gates = append(c.Gates, p.gated(g, a, b, len(o.Gates)*len(comparable)))
		}
	}
	return c
}

// headlineOfRuns are the headline metrics of the experiment of two runs, and the other metrics. Runs of
// experiments with different headlines have those of an experiment that names none.
func headlineOfRuns(a, b result.Document) (all, others []metric) {
	if !slices.Equal(a.Headline, b.Headline) {
		return headline(result.Document{})
	}
	return headline(b)
}

func comparedRun(d result.Document) result.ComparedRun {
	rounds := d.Rounds
	if d.Partial { // which has fewer than it was to have
		rounds = 0
		for _, arm := range d.Arms {
			rounds = max(rounds, len(arm.Trials))
		}
	}
	return result.ComparedRun{ID: d.ID, Experiment: d.Experiment, Started: d.Started, Rounds: rounds, Machine: d.Machine}
}

// largerMargin returns the larger margin of two runs, as a share; 0: the default.
func largerMargin(a, b result.Document) float64 {
	if larger := max(a.Margin, b.Margin); larger > verdict.DefaultMargin || min(a.Margin, b.Margin) > 0 {
		return larger
	}
	return 0
}

// ratioOptions are the options of a ratio of two runs; family is how many ratios share the 5 % error.
func ratioOptions(m metric, a, b result.Document, family int) verdict.Options {
	return verdict.Options{Family: family, Margin: largerMargin(a, b), Seed: experiment.DeriveSeed(1, "compare"), LowerIsBetter: !m.higher}
}

// ratio compares the arm's metric in both runs. family is how many ratios share the 5 % error.
func (p armPair) ratio(m metric, a, b result.Document, family int) result.Ratio {
	o := ratioOptions(m, a, b, family)
	p, before, after, cycles := p.samples(m, a, b, &o)
	compare := verdict.CompareRuns
	if m.byRank {
		compare = verdict.CompareRunsByRank
	}
	v := compare(before, after, o)
	r := result.Ratio{
		Metric: m.name, Arm: p.name(), Cell: p.a.Cell, Secondary: !m.headline,
		Ratio: v.Ratio, CI: v.CI, Level: v.Level, Trials: [2]int{len(before), len(after)}, Cycles: cycles,
		Decision: string(v.Decision), Bound: m.bound(p.b, p.a),
	}
	r.A, r.ABound = armValue(p.a, m)
	r.B, r.BBound = armValue(p.b, m)
	why := reasonOf(v.Reason, v.Cause)
	if v.Ratio > 0 {
		r.PRanks = verdict.RankSum(before, after)
	}
	if r.Ratio >= result.Beyond || r.Ratio <= 1/result.Beyond {
		r.Ratio, r.CI, r.Bound = 0, [2]float64{}, ""
	}
	unfit := p.unfit(m, a, b)
	if unfit.text == "" {
		unfit = lowerBounds(m, p.b, p.a, r.Decision)
	}
	if unfit.text != "" {
		r.Decision, why, r.Unfit = string(verdict.Undecided), unfit, true
	}
	r.Reason, r.Cause = why.text, why.fields()
	return r
}

// gated checks a gate on the arm; checks is how many there are in all.
func (p armPair) gated(g Gate, a, b result.Document, checks int) result.GateResult {
	o := ratioOptions(g.metric, a, b, checks)
	p, before, after, _ := p.samples(g.metric, a, b, &o)
	v, outcome, why := g.bound.OfRuns(before, after, o)
	unfit := p.unfit(g.metric, a, b)
	if unfit.text == "" {
		unfit = g.lowerBounds(p, outcome)
	}
	if unfit.text != "" {
		outcome, why = verdict.Open, unfit.text
	}
	return result.GateResult{
		Gate: g.text, Arm: p.name(), Cell: p.a.Cell, Ratio: v.Ratio, CI: v.CI, Level: v.Level,
		Outcome: string(outcome), Reason: why,
	}
}

// unfit says why the arm's numbers do not represent it in one of the runs.
func (p armPair) unfit(m metric, a, b result.Document) reason {
	if why := p.notKnown(m); why.text != "" {
		return why
	}
	if why := unfitArm(m, a, p.a); why.text != "" {
		why.text, why.cause.Run = "in A, "+why.text, "A"
		return why
	}
	if why := unfitArm(m, b, p.b); why.text != "" {
		why.text, why.cause.Run = "in B, "+why.text, "B"
		return why
	}
	if p.busy.text != "" {
		return p.busy
	}
	if merged := len(a.MergedRounds)+len(b.MergedRounds) > 0; !merged { // runs have processes of their own
		for _, arm := range []result.Arm{p.a, p.b} {
			if why := oneProcess(m, arm); why.text != "" {
				return why
			}
		}
	}
	if why := coarseClock(m, max(a.Machine.ClockNS, b.Machine.ClockNS), p.a, p.b); why.text != "" {
		return why
	}
	return coarseSteps(m, p.a, p.b)
}

// notKnown says in which runs no round of the arm has a value of the metric, such as the CPU time of a server that rpclab did
// not start.
func (p armPair) notKnown(m metric) reason {
	if max(p.a.Lost(), p.b.Lost()) > tooManyLost { // which is the better reason
		return reason{}
	}
	var without []string
	for i, arm := range []result.Arm{p.a, p.b} {
		if m.unknownOf(arm) {
			without = append(without, [...]string{"A", "B"}[i])
		}
	}
	if len(without) == 0 {
		return reason{}
	}
	return reason{fmt.Sprintf("%s of %s is not known in %s", m.experimentName(), p.name(), strings.Join(without, " and ")), result.Cause{Kind: result.CauseValue}}
}

// samples returns the values of the metric in both runs, one for each trial. If arms took turns in both, each value is of a
// group of cycles, and the returned pair has these groups in place of its trials. If runs were merged, each value is of a
// whole run. It sets in o which of them it is.
func (p armPair) samples(m metric, a, b result.Document, o *verdict.Options) (_ armPair, before, after []float64, cycles int) {
	cut := m.cutOff(p.a, p.b)
	allow := func() {
		o.Raised = [2]float64{m.raised(p.a).within(a.Margin) + cut[1], m.raised(p.b).within(b.Margin) + cut[0]}
	}
	if o.Runs = len(a.MergedRounds)+len(b.MergedRounds) > 0; o.Runs {
		allow()
		of := m.between(p.a, p.b)
		return p, oneEach(m, a, p.a, of), oneEach(m, b, p.b, of), 0
	}
	p.a, p.b, cycles, o.Consecutive = runsInGroups(m, p.a, p.b)
	o.Whole = cycles == 0
	allow()
	of := m.between(p.a, p.b)
	return p, values(p.a, of), values(p.b, of), cycles
}

// armValue is the metric of all trials of an arm together or, if it is of the events of a trial, of the median
// trial; 0: there is none.
func armValue(arm result.Arm, m metric) (float64, result.ValueBound) {
	if name, isLatency := strings.CutPrefix(m.name, "latency_"); isLatency && !arm.Latency.Empty() {
		figure := arm.Latency.Figure(name)
		return figure.Value, map[bool]result.ValueBound{true: result.LowerValue}[figure.Lower]
	}
	t := result.Trial{Measures: arm.Measures}
	if arm.Capacity != nil {
		t.Capacity = &result.Capacity{Rate: arm.Capacity.Rate}
	}
	for _, v := range []float64{m.of(t), verdict.Median(values(arm, m.of))} {
		switch {
		case math.IsInf(v, 1):
			return 0, result.NeverEnded
		case !math.IsNaN(v):
			return v, ""
		}
	}
	return 0, ""
}

// Incomparable is the error of two runs of which no arm can be compared, with the reasons.
func Incomparable(c result.Comparison) error {
	const most = 3
	text := ""
	for i, r := range c.Refused {
		if i == most {
			text += fmt.Sprintf("\n- and %d more", len(c.Refused)-most)
			break
		}
		text += fmt.Sprintf("\n- %s: %s", place(result.Arm{Name: r.Arm, Cell: r.Cell}), r.Reason)
	}
	return fmt.Errorf("nothing in %s can be compared with %s%s", c.B.ID, c.A.ID, text)
}
