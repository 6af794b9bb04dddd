package analysis

import (
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Earlier returns what a plan uses of a finished run. It computes the power of verdicts if an older rpclab did
// not.
func Earlier(d result.Document) result.Earlier {
	if !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Power != nil }) {
		d = Assemble(d)
	}
	return result.EarlierOf(d)
}

// Foresee adds to a plan what earlier runs of the experiment on this machine show: how long the run takes,
// which differences it detects, and how much memory it uses.
func Foresee(p result.Plan, earlier []result.Earlier) result.Plan {
	p.From = []string{}
	perTrial, tells := []float64{}, map[string][]verdict.Precision{} // with rounds as the unit
	for _, e := range earlier {
		if e.ID != "" { // it is stored
			p.From = append(p.From, e.ID)
		}
		p.Memory = moreMemory(p.Memory, e.Memory)
		if e.Trials > 0 {
			perTrial = append(perTrial, e.TookMS/float64(e.Trials))
		}
		for metric, precision := range worstPairs(e, p.Arms) {
			tells[metric] = append(tells[metric], precision)
		}
	}
	if limit := float64(p.TimeLimitMS); limit > 0 && len(perTrial) > 0 && !p.Scaled {
		perRound := p.Most.Trials / max(p.Most.Rounds, 1)
		p.Most.Rounds = min(p.Most.Rounds, max(p.Fewest.Rounds, int(limit/(middle(perTrial)*float64(perRound)))))
		p.Most.Trials = p.Most.Rounds * perRound
	}
	for _, run := range []*result.PlannedRun{&p.Fewest, &p.Most} {
		run.Tells = map[string]float64{}
		shared := verdict.Options{Family: p.Pairs, Share: verdict.ErrorShare(p.Looks, run.Rounds), Margin: p.Margin}
		for metric, all := range tells {
			if run.Rounds < p.RoundsForVerdict {
				break // it detects no difference
			}
			var ratios []float64
			for _, precision := range all {
				ratios = append(ratios, precision.After(float64(run.Rounds)).Under(shared).Ratio(usualPower))
			}
			run.Tells[metric] = middle(ratios)
		}
		if len(perTrial) > 0 && !p.Scaled {
			took := math.Round(middle(perTrial) * float64(run.Trials))
			run.TookMS = &took
		}
	}
	return p
}

// Pairs returns how many pairs of arms answer the question of a run, in all cells. They share its error.
func Pairs(d result.Document) (n int) {
	for _, p := range comparisons(d) {
		if p.family() == questions {
			n++
		}
	}
	return n
}

// worstPairs returns, by headline metric, the precision of the pair of arms with the largest error. Its number
// of rounds is that of the run. Alpha and Margin are those of a plan, which may have more pairs, cells and looks.
func worstPairs(e result.Earlier, arms []string) map[string]verdict.Precision {
	worst := map[string]verdict.Precision{}
	for _, n := range e.Noise {
		if !slices.Contains(arms, n.A) || !slices.Contains(arms, n.B) {
			continue
		}
		p := verdict.Precision{Error: n.Error, Freedom: n.Freedom, Rounds: float64(e.Rounds)}
		if other, known := worst[n.Metric]; !known || p.Error > other.Error {
			worst[n.Metric] = p
		}
	}
	return worst
}

func moreMemory(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
