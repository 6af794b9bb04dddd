package analysis

import (
	"fmt"
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// GateArms tests gates on the ratio of each arm of a run to its baseline, or to the arm in its field against. All
// outcomes together are right with a confidence of 95 %.
func GateArms(d result.Document, gates []Gate) (all []result.GateResult) {
	for _, g := range gateArms(d, gates) {
		all = append(all, g.GateResult)
	}
	return all
}

// GatesSettledIn reports whether each gate on the ratios of some arms in one cell passed or failed, or more rounds
// cannot tell. Without arms, it reports this for all arms in all cells.
func GatesSettledIn(d result.Document, gates []Gate, cell result.Cell, arms []string) bool {
	return !slices.ContainsFunc(gateArms(Assemble(d), gates), func(g armGate) bool {
		in := len(arms) == 0 || g.Cell.Key() == cell.Key() && slices.Contains(arms, g.Arm)
		return in && !g.settled
	})
}

// armGate is the outcome of a gate for one arm; settled: more rounds cannot decide it, or it is decided.
type armGate struct {
	result.GateResult
	settled bool
}

func gateArms(d result.Document, gates []Gate) (all []armGate) {
	inCell, checks := armsByCell(d), 0
	pairs := comparisons(d)
	for _, p := range pairs {
		if p.kind.AnswersQuestion() {
			checks += len(gates)
		}
	}
	for _, g := range gates {
		var tested []result.Verdict
		var cut []cutOff               // of the verdicts tested
		doubted := map[string]string{} // by cell
		for _, p := range pairs {
			if !p.kind.AnswersQuestion() && p.kind != result.OfControl {
				continue
			}
			v := verdictOn(d, g.metric, p, inCell[p.a.Key().Cell], checks)
			switch {
			case p.kind.AnswersQuestion():
				tested, cut = append(tested, v), append(cut, g.metric.cutOff(p.a, p.b))
			case isFalsePositive(v):
				doubted[v.Cell.Key()] = falsePositive(v).text
			}
		}
		for i, v := range tested {
			r := g.onVerdict(v, cut[i])
			if why := doubted[v.Cell.Key()]; why != "" {
				r.Outcome, r.Reason, r.settled = string(verdict.Open), why, r.settled && v.Unfit
			}
			all = append(all, r)
		}
	}
	return all
}

// onVerdict tests the gate on the ratio of two arms. A round that differs from the others, or drift, makes a verdict
// doubtful and not the outcome of a gate, as in a comparison of two runs. What cut allows for stays, however many rounds.
func (g Gate) onVerdict(v result.Verdict, cut cutOff) (r armGate) {
	r.GateResult = result.GateResult{
		Gate: g.text, Arm: v.A, Cell: v.Cell, Ratio: v.Ratio, CI: v.CI, Level: v.Level, Outcome: string(verdict.Open), Reason: v.Reason,
	}
	if v.Cause != nil && !slices.Contains([]result.CauseKind{result.CauseInterval, result.CauseDrift, result.CauseOutlier}, v.Cause.Kind) {
		moreCalls := v.Cause.Kind == result.CauseCalls && v.Cycles > 0 // more cycles make a larger group
		r.settled = v.Unfit && !moreCalls
		return r
	}
	outcome := g.bound.OfInterval(v.CI)
	under := (outcome == verdict.Held) != g.bound.Over
	switch {
	case outcome == verdict.Open && g.openWithoutNoise(v.CI, cut):
		r.Reason = fmt.Sprintf("the ratio to %s may be on either side of %g, and more rounds cannot tell: calls in flight when a load or block ends do not count. Set the gate on a latency, or use longer loads with design: isolated", v.B, g.bound.Limit)
		r.settled = true
	case outcome == verdict.Open:
		r.Reason = fmt.Sprintf("the ratio to %s may be on either side of %g: run more rounds", v.B, g.bound.Limit)
	case under && v.Bound == result.LowerBound, !under && v.Bound == result.UpperBound:
		r.Reason = "calls were lost, so that the ratio is only a " + string(v.Bound) + " bound"
		r.settled = true
	default:
		r.Outcome, r.Reason, r.settled = string(outcome), "", true
	}
	return r
}

// openWithoutNoise reports whether what cut allows for keeps the gate open, whichever ratio in the interval is the true one. The
// interval includes the allowance.
func (g Gate) openWithoutNoise(ci [2]float64, cut cutOff) bool {
	both := math.Exp(cut[0] + cut[1])
	always := [2]float64{ci[1] / both, ci[0] * both} // within the allowance around every true ratio
	return always[0] < always[1] && g.bound.OfInterval(always) == verdict.Open
}
