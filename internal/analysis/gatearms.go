package analysis

import (
	"fmt"

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
		var compared []comparison
		var verdicts []result.Verdict
		for _, p := range pairs {
			if p.kind.AnswersQuestion() || p.kind == result.OfControl {
				compared = append(compared, p)
				verdicts = append(verdicts, verdictOn(d, g.metric, p, inCell[p.a.Key().Cell], checks))
			}
		}
		doubtControls(verdicts)
		for i, v := range verdicts {
			if v.Kind.AnswersQuestion() {
				all = append(all, g.onVerdict(v, compared[i]))
			}
		}
	}
	return all
}

// onVerdict tests the gate on the ratio of two arms.
func (g Gate) onVerdict(v result.Verdict, p comparison) result.GateResult {
	r := result.GateResult{Gate: g.text, Arm: v.A, Cell: v.Cell, Ratio: v.Ratio, CI: v.CI, Level: v.Level, Outcome: string(verdict.Open), Reason: v.Reason}
	if v.Cause != nil && v.Cause.Kind != result.CauseInterval { // a guard, a doubt, or too few rounds
		return r
	}
	outcome := g.bound.OfInterval(v.CI)
	switch unfit := g.lowerBounds(armPair{a: p.b, b: p.a}, outcome); {
	case outcome == verdict.Open:
		r.Reason = fmt.Sprintf("the interval of the ratio to %s spans %g: run more rounds", v.B, g.bound.Limit)
	case unfit.text != "":
		r.Reason = unfit.text
	default:
		r.Outcome, r.Reason = string(outcome), ""
	}
	return r
}
