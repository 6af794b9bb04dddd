package analysis

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"rpclab/internal/experiment"
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

// Foresee adds to a plan what its loads and earlier runs of the experiment on this machine show: how long the run
// takes, which differences it detects, and how much memory it uses.
func Foresee(p result.Plan, earlier []result.Earlier) result.Plan {
	p.From = []string{}
	tells := map[string][]verdict.Precision{} // with rounds as the unit
	for _, e := range earlier {
		if e.ID != "" { // it is stored
			p.From = append(p.From, e.ID)
		}
		p.Memory = moreMemory(p.Memory, e.Memory)
		for metric, precision := range worstPairs(e, p.Arms) {
			tells[metric] = append(tells[metric], precision)
		}
	}
	if limit := float64(p.TimeLimitMS); limit > 0 {
		perRound := p.Most.Trials / max(p.Most.Rounds, 1)
		p.Most.Rounds = p.Fewest.Rounds + sort.Search(p.Most.Rounds-p.Fewest.Rounds, func(more int) bool {
			took := duration(p, p.Fewest.Rounds+more+1, earlier)
			return took != nil && (took[0]+took[1])/2 > limit
		})
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
		if len(p.ByRank) > 0 && cmp.Or(p.Design, experiment.Isolated) == experiment.Isolated { // rounds in turns are not independent
			run.InOrder = verdict.RankShare(run.Rounds, shared)
		}
		run.TookMS, run.LoadMS = duration(p, run.Rounds, earlier), leastLoad(p, run.Rounds)
	}
	if took := p.Most.TookMS; took != nil && p.TimeLimitMS > 0 {
		took[1] = max(took[0], min(took[1], float64(p.TimeLimitMS)))
	}
	return p
}

// duration returns from what to what a number of rounds takes, in ms, by earlier runs; nil: not known.
func duration(p result.Plan, rounds int, earlier []result.Earlier) *[2]float64 {
	var low, high []float64
	for _, e := range earlier {
		if from, to := durationBy(e, p, rounds); to > 0 {
			low, high = append(low, from), append(high, to)
		}
	}
	if len(low) == 0 {
		return nil
	}
	return &[2]float64{math.Round(middle(low)), math.Round(middle(high))}
}

// durationBy returns from what to what a number of rounds takes, in ms, by one earlier run; 0: not known.
func durationBy(e result.Earlier, p result.Plan, rounds int) (low, high float64) {
	starts, measured := 0, 0.0
	for _, l := range p.Loads {
		from, to := loadBy(e, l)
		low, high = low+from*float64(rounds*l.Trials), high+to*float64(rounds*l.Trials)
		starts += l.Trials
	}
	for _, l := range e.Loads {
		measured += l.MeanMS * float64(l.Trials)
	}
	if measured == 0 || e.Starts == 0 {
		return 0, 0
	}
	rest := [2]float64{e.RestMS * float64(starts) / float64(e.Starts), e.RestMS * (low + high) / 2 / measured}
	switch p.Design {
	case "", experiment.Isolated: // an arm starts for each trial
		rest[0] *= float64(rounds)
		rest[1] = rest[0]
	case experiment.SideBySide:
		low, high = low/float64(len(p.Arms)), high/float64(len(p.Arms))
	}
	// Arms in turns start once, and pause after each block. How much of the rest was starts is not known.
	return low + min(rest[0], rest[1]), high + max(rest[0], rest[1])
}

// loadBy returns from what to what a planned load takes, in ms, by those of an earlier run: the same one, else all of
// its arm, else all.
func loadBy(e result.Earlier, planned result.LoadTime) (low, high float64) {
	for want := 2; want >= 0 && high == 0; want-- {
		low = math.Inf(1)
		for _, l := range e.Loads {
			likeness := 0
			if l.Arm == planned.Arm {
				likeness++
				if l.Cell == planned.Cell {
					likeness++
				}
			}
			if likeness == want && l.Trials > 0 {
				from, to := planned.Between(l)
				low, high = min(low, from), max(high, to)
			}
		}
	}
	return min(low, high), high
}

// leastLoad returns how long the loads of a number of rounds take at least, in ms.
func leastLoad(p result.Plan, rounds int) (all float64) {
	for _, l := range p.Loads {
		all += l.LeastMS * float64(rounds*l.Trials)
	}
	if p.Design == experiment.SideBySide {
		all /= float64(len(p.Arms))
	}
	return all
}

// TooFewCalls returns the headline metrics that have no verdict at any number of rounds: percentiles that need more calls
// than a trial has at most. Arms in turns add up the calls of their cycles. calls is 0 if it is not known.
func TooFewCalls(d result.Document, calls int) (names []string) {
	all, _ := headline(d)
	for _, m := range all {
		if calls > 0 && m.tail > 0 && cmp.Or(d.Design, experiment.Isolated) == experiment.Isolated && verdict.TooFew(uint64(calls), m.tail) {
			names = append(names, m.name)
		}
	}
	return names
}

// RoundsForVerdict returns the smallest number of rounds with which a run can have verdicts on its headline. Metrics that
// are compared by their order take more rounds the more pairs and looks share the error. calls are those of a trial, as
// in [TooFewCalls].
func RoundsForVerdict(d result.Document, calls int) int {
	if ranked := len(ByRank(d)); ranked == 0 || ranked+len(TooFewCalls(d, calls)) < len(d.Headline) {
		return experiment.FewestRounds(d.Design)
	}
	o := verdict.Options{Family: Pairs(d)}
	if len(d.Looks) > 0 {
		o.Share = verdict.ErrorShare(d.Looks, d.Looks[0])
	}
	return verdict.RankRounds(o)
}

// ByRank returns the headline metrics that are compared by the order of their trials.
func ByRank(d result.Document) (names []string) {
	all, _ := headline(d)
	for _, m := range all {
		if m.byRank {
			names = append(names, m.name)
		}
	}
	return names
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

// worstPairs returns, by headline metric, the precision of the pair of arms with the largest error in as many rounds. Its
// number of rounds is that of the run. Alpha and Margin are those of a plan, which may have more pairs, cells and looks.
func worstPairs(e result.Earlier, arms []string) map[string]verdict.Precision {
	worst := map[string]verdict.Precision{}
	for _, n := range e.Noise {
		if !slices.Contains(arms, n.A) || !slices.Contains(arms, n.B) {
			continue
		}
		p := verdict.Precision{Error: n.Error, Freedom: n.Freedom, Raised: n.Raised, Rounds: float64(cmp.Or(n.Rounds, e.Rounds))}.After(float64(e.Rounds))
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
