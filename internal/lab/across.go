package lab

import (
	"fmt"
	"math"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Across are the options of [Compare].
type Across struct {
	Gates []Gate
	// Allow are the paths of settings that may differ although they make another
	// question of an arm; "experiment" and "quick" are such, too.
	Allow []string
}

// Compare says what the run b shows against an earlier run a: the two as independent
// samples of trials, since what changed between the runs is in every difference. Arms
// are compared with those of the same name and cell, unless they were asked something
// else.
func Compare(a, b result.Document, o Across) result.Comparison {
	c := result.Comparison{Schema: result.ComparisonSchema, A: side(a), B: side(b)}
	var pairs []acrossPair
	pairs, c.Refused = partners(a, b)
	fit := pairs[:0:0]
	for _, p := range pairs {
		if why := incomparable(a, b, p, o.Allow); why != "" {
			c.Refused = append(c.Refused, result.Refusal{Arm: p.name(), Cell: p.a.Cell, Reason: why})
			continue
		}
		fit = append(fit, p)
	}
	c.Differences = differences(a, b, fit)
	headline := 0
	for _, p := range fit {
		headline += headlines(p.a, p.b)
	}
	for _, p := range fit {
		for _, m := range metrics {
			if m.compared(p.a, p.b) {
				family := len(fit)
				if m.headline {
					family = headline
				}
				c.Ratios = append(c.Ratios, p.ratio(m, a, b, family))
			}
		}
		for _, g := range o.Gates {
			c.Gates = append(c.Gates, p.gated(g, a, b, len(o.Gates)*len(fit)))
		}
	}
	return c
}

func side(d result.Document) result.Side {
	return result.Side{ID: d.ID, Experiment: d.Experiment, Started: d.Started, Rounds: d.Rounds, Machine: d.Machine}
}

// acrossPair is an arm in two runs.
type acrossPair struct{ a, b result.Arm }

// name is that of both, or of each where the runs have one arm of different names.
func (p acrossPair) name() string {
	if p.a.Name == p.b.Name {
		return p.a.Name
	}
	return p.a.Name + " / " + p.b.Name
}

// partners are the arms of both runs by name and cell. Where either run has one arm
// alone, such as loads of two servers, they are partners whatever their names.
func partners(a, b result.Document) (pairs []acrossPair, alone []result.Refusal) {
	if len(a.Arms) == 1 && len(b.Arms) == 1 && len(a.Arms[0].Cell)+len(b.Arms[0].Cell) == 0 && a.Experiment == b.Experiment {
		return []acrossPair{{a.Arms[0], b.Arms[0]}}, nil
	}
	find := func(d result.Document, arm result.Arm) (result.Arm, bool) {
		for _, other := range d.Arms {
			if other.Name == arm.Name && other.Cell.Key() == arm.Cell.Key() {
				return other, true
			}
		}
		return result.Arm{}, false
	}
	for _, arm := range a.Arms {
		if other, ok := find(b, arm); ok {
			pairs = append(pairs, acrossPair{arm, other})
		} else {
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in A"})
		}
	}
	for _, arm := range b.Arms {
		if _, ok := find(a, arm); !ok {
			alone = append(alone, result.Refusal{Arm: arm.Name, Cell: arm.Cell, Reason: "only in B"})
		}
	}
	return pairs, alone
}

// acrossOptions share the error among so many intervals.
func acrossOptions(m metric, family int) verdict.Options {
	return verdict.Options{Family: family, Seed: seed(1, "compare"), LowerIsBetter: !m.higher}
}

// ratio compares a metric, one of a family of so many ratios.
func (p acrossPair) ratio(m metric, a, b result.Document, family int) result.Ratio {
	before, after := p.values(m)
	v := verdict.CompareRuns(before, after, acrossOptions(m, family))
	r := result.Ratio{
		Metric: m.name, Arm: p.name(), Cell: p.a.Cell, Secondary: !m.headline, A: whole(p.a, m), B: whole(p.b, m),
		Ratio: v.Ratio, CI: v.CI, Level: v.Level, Trials: [2]int{len(before), len(after)},
		Decision: string(v.Decision), Reason: v.Reason,
	}
	if v.Ratio > 0 {
		r.PRanks = verdict.RankSum(before, after)
	}
	if why := p.unfit(m, a, b); why != "" {
		r.Decision, r.Reason = string(verdict.Undecided), why
	}
	return r
}

// gated holds a gate against the arm; checks is how many there are in all.
func (p acrossPair) gated(g Gate, a, b result.Document, checks int) result.Gated {
	before, after := p.values(g.metric)
	v, outcome, reason := g.bound.OfRuns(before, after, acrossOptions(g.metric, checks))
	if why := p.unfit(g.metric, a, b); why != "" {
		outcome, reason = verdict.Open, why
	}
	return result.Gated{
		Gate: g.text, Arm: p.name(), Cell: p.a.Cell, Ratio: v.Ratio, CI: v.CI, Level: v.Level,
		Outcome: string(outcome), Reason: reason,
	}
}

// unfit says why numbers of the arm do not stand for it in one of the runs.
func (p acrossPair) unfit(m metric, a, b result.Document) string {
	if why := unfitArm(m, a, p.a); why != "" {
		return "in A, " + why
	}
	if why := unfitArm(m, b, p.b); why != "" {
		return "in B, " + why
	}
	return bySteps(m, p.a, p.b)
}

// values are those of both runs' trials, to be compared.
func (p acrossPair) values(m metric) (before, after []float64) {
	of := m.between(p.a, p.b)
	return values(p.a, of), values(p.b, of)
}

// values are those of an arm's trials, NaN of one that gave none.
func values(arm result.Arm, of func(result.Trial) float64) []float64 {
	all := make([]float64, len(arm.Trials))
	for i, t := range arm.Trials {
		all[i] = math.NaN()
		if t.Failed == "" {
			all[i] = of(t)
		}
	}
	return all
}

// whole is the value of all trials of an arm together; 0: there is none.
func whole(arm result.Arm, m metric) float64 {
	t := result.Trial{Measures: arm.Measures}
	if arm.Capacity != nil {
		t.Capacity = &result.Capacity{Rate: arm.Capacity.Rate}
	}
	if v := m.of(t); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

// Incomparable is the error that two runs have nothing to compare, with the reasons.
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
