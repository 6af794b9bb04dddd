package experiment

import (
	"slices"
	"time"

	"rpclab/internal/verdict"
)

// FewestRounds returns the smallest number of rounds with which verdicts are possible. If arms take turns, the
// cycles of one round may be enough.
func FewestRounds(design string) int {
	if design == Isolated {
		return verdict.MinRounds
	}
	return 1
}

// fewestRounds is [FewestRounds] of the experiment. A burst is one block of a cycle, so a round has one cycle.
func (r resolved) fewestRounds() int {
	for _, configs := range r.configs {
		if slices.ContainsFunc(configs, func(c Config) bool { return c.Load.Burst > 0 }) {
			return verdict.MinRounds
		}
	}
	return FewestRounds(r.experiment.Design)
}

// firstShare is the share of the error that the first of several looks may use.
var firstShare = verdict.ErrorShare([]int{1, 2}, 1)

// callsOfGroup is how many calls a group of cycles has at least for a percentile: ten exceed it.
var callsOfGroup = map[string]int{"p50": 20, "p90": 100, "p99": 1000, "p999": 10_000}

// roundsForVerdict returns after how many rounds a headline metric can have verdicts that use a share of the error. pairs
// is how many pairs of arms share it.
func (r resolved) roundsForVerdict(metric string, pairs int, share float64) int {
	least := r.fewestRounds()
	switch {
	case metric == "failed" || metric == "followed": // compared by the ranks of rounds
		return max(least, verdict.RankRounds(verdict.Options{Family: pairs, Share: share}))
	case r.experiment.Design == Isolated:
		return least
	case metric == "balance": // has one value for each round, and not for each cycle
		return max(least, verdict.MinRounds)
	}
	if blocks := r.mostBlocks(); blocks > 0 { // each cycle has one
		least = max(least, (verdict.MinRounds+blocks-1)/blocks)
	}
	if calls := r.fewestCalls(); calls > 0 {
		least = max(least, (verdict.MinRounds*callsOfGroup[metric]+calls-1)/calls)
	}
	return least
}

// mostBlocks returns into how many blocks a round of arms in turns is divided at most: those of its longest load have 50
// calls, or take 2 s (package lab); 0: it depends on the responses.
func (r resolved) mostBlocks() (most int) {
	for _, configs := range r.configs {
		for _, c := range configs {
			calls := c.Load.Due()
			if calls == 0 {
				return 0
			}
			blocks := (calls + 25) / 50
			if c.Load.Open != nil {
				blocks = max(blocks, int((c.Load.Open.Duration+time.Second)/(2*time.Second)))
			}
			most = max(most, blocks, 1)
		}
	}
	return most
}

// only returns the experiment without the loads of arms that are not picked; no names pick all.
func (r resolved) only(names []string) resolved {
	r.configs = slices.Clone(r.configs)
	for i, arm := range r.experiment.Arms {
		if len(names) > 0 && !slices.Contains(names, arm.Name) {
			r.configs[i] = nil
		}
	}
	return r
}

// headline returns the headline metrics, or those of an experiment that names none.
func (r resolved) headline() []string {
	if len(r.experiment.Headline) == 0 {
		return []string{"p50", "p99"}
	}
	return r.experiment.Headline
}

// fewestCalls returns the smallest number of calls of an arm in one round; 0: it depends on the responses.
func (r resolved) fewestCalls() (fewest int) {
	for _, configs := range r.configs {
		for _, c := range configs {
			if calls := c.Load.Due(); fewest == 0 || calls > 0 && calls < fewest {
				fewest = calls
			}
		}
	}
	return fewest
}

// pairs returns how many pairs of the picked arms answer the question, in all cells.
func (r resolved) pairs(names []string) (int, error) {
	picked, err := pick(r.experiment, names)
	if err != nil {
		return 0, err
	}
	return pairs(r.experiment.among(picked)) * len(r.cells), nil
}

// pairs returns how many pairs of arms answer the question in one cell. Arms with which others are compared are compared
// with no other arm, unless they say so.
func pairs(arms []Arm, baseline string) (n int) {
	reference := map[string]bool{baseline: true}
	for _, a := range arms {
		reference[a.Against] = true
	}
	for _, a := range arms {
		if a.Control == "" && (a.Against != "" || !reference[a.Name]) {
			n++
		}
	}
	return n
}
