package analysis

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// GateArms tests gates on the ratio of each arm of a run to its baseline, or to the arm in its field against. All
// outcomes together are right with a confidence of 95 %.
func GateArms(d result.Document, gates []Gate) (all []result.GateResult) {
	inCell, checks := armsByCell(d), 0
	pairs := comparisons(d)
	for _, p := range pairs {
		if p.kind.AnswersQuestion() {
			checks += len(gates)
		}
	}
	for _, g := range gates {
		var tested []result.Verdict
		doubted := map[string]string{} // by cell
		for _, p := range pairs {
			if !p.kind.AnswersQuestion() && p.kind != result.OfControl {
				continue
			}
			v := verdictOn(d, g.metric, p, inCell[p.a.Key().Cell], checks)
			switch {
			case p.kind.AnswersQuestion():
				tested = append(tested, v)
			case isFalsePositive(v):
				doubted[v.Cell.Key()] = falsePositive(v).text
			}
		}
		for _, v := range tested {
			r := g.onVerdict(v)
			if why := doubted[v.Cell.Key()]; why != "" {
				r.Outcome, r.Reason = string(verdict.Open), why
			}
			all = append(all, r)
		}
	}
	return all
}

// onVerdict tests the gate on the ratio of two arms. A round that differs from the others, or drift, makes a verdict
// doubtful and not the outcome of a gate, as in a comparison of two runs.
func (g Gate) onVerdict(v result.Verdict) result.GateResult {
	r := result.GateResult{Gate: g.text, Arm: v.A, Cell: v.Cell, Ratio: v.Ratio, CI: v.CI, Level: v.Level, Outcome: string(verdict.Open), Reason: v.Reason}
	if v.Cause != nil && !slices.Contains([]result.CauseKind{result.CauseInterval, result.CauseDrift, result.CauseOutlier}, v.Cause.Kind) {
		return r
	}
	outcome := g.bound.OfInterval(v.CI)
	under := (outcome == verdict.Held) != g.bound.Over
	switch {
	case outcome == verdict.Open:
		r.Reason = fmt.Sprintf("the interval of the ratio to %s spans %g: run more rounds", v.B, g.bound.Limit)
	case under && v.Bound == result.LowerBound, !under && v.Bound == result.UpperBound:
		r.Reason = "calls were lost, so that the ratio is only a " + string(v.Bound) + " bound"
	default:
		r.Outcome, r.Reason = string(outcome), ""
	}
	return r
}
