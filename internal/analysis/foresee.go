package analysis

import (
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Foresee adds to a plan what earlier runs of the experiment on this machine say about it: how long it takes,
// which differences it tells, and how much memory it uses.
func Foresee(p result.Plan, earlier []result.Document) result.Plan {
	p.From = []string{}
	perTrial, tells := []float64{}, map[string][]verdict.Precision{} // at one value a round
	for _, d := range earlier {
		if !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Power != nil }) {
			d = Assemble(d) // of a rpclab that did not know the power
		}
		p.From = append(p.From, d.ID)
		p.Memory = moreMemory(p.Memory, memoryOf(d))
		if trials := trialsOf(d); trials > 0 {
			perTrial = append(perTrial, result.Milliseconds(lasted(d))/float64(trials))
		}
		for metric, precision := range worstPairs(d, p.Arms) {
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
		for metric, all := range tells {
			var ratios []float64
			for _, precision := range all {
				ratios = append(ratios, precision.After(float64(run.Rounds)).Ratio(usualPower))
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

// worstPairs returns the precision of the pair of arms that a run tells the least about, by headline metric.
// Its rounds are those of the run.
func worstPairs(d result.Document, arms []string) map[string]verdict.Precision {
	worst := map[string]verdict.Precision{}
	for _, v := range d.Verdicts {
		if v.Power == nil || v.Unfit || !v.Kind.AnswersQuestion() || !slices.Contains(arms, v.A) || !slices.Contains(arms, v.B) {
			continue
		}
		p := verdict.Precision{
			Error: v.Power.Error, Freedom: v.Power.Freedom, Rounds: float64(d.Rounds), Alpha: 1 - v.Level, Margin: d.Margin,
		}
		if other, known := worst[v.Metric]; !known || p.Error > other.Error {
			worst[v.Metric] = p
		}
	}
	return worst
}

func trialsOf(d result.Document) (n int) {
	for _, a := range d.Arms {
		n += len(a.Trials)
	}
	return n
}

// memoryOf returns the most memory that a run used at a time; nil: not known. Arms that take turns are up at
// the same time.
func memoryOf(d result.Document) *uint64 {
	var most uint64
	byCell := map[string]uint64{}
	for _, a := range d.Arms {
		var ofArm uint64
		for _, t := range a.Trials {
			r := t.Resources
			used := r.Client.RSS + r.Proxy.RSS + r.Gateway.RSS + r.Control.RSS
			for _, s := range t.Servers {
				used += s.RSS
			}
			ofArm = max(ofArm, used)
		}
		byCell[a.Cell.Key()] += ofArm
		most = max(most, ofArm)
		if d.Design != "" && d.Design != "isolated" {
			most = max(most, byCell[a.Cell.Key()])
		}
	}
	if most == 0 {
		return nil
	}
	return &most
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
