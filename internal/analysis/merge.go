package analysis

import (
	"fmt"
	"math"
	"slices"

	"rpclab/internal/result"
)

// MergeRuns merges several runs into one document whose arms contain the trials of all runs. It makes loads of
// one round each comparable, and runs that alternate. It fails if machine, design, arms or settings differ.
func MergeRuns(runs []result.Document) (result.Document, error) {
	d := runs[0]
	if len(runs) == 1 {
		return d, nil
	}
	d.MergedRounds = []int{d.Rounds}
	d.Arms = slices.Clone(d.Arms)
	for i := range d.Arms {
		d.Arms[i].Trials = slices.Clone(d.Arms[i].Trials)
	}
	for _, run := range runs[1:] {
		pairs, alone := pairsOf(d, run)
		if why := difference(d, run, pairs, alone); why != "" {
			return d, fmt.Errorf("%s and %s cannot be merged: %s", runs[0].ID, run.ID, why)
		}
		cycles := lastCycle(d)
		for i, p := range pairs { // in the order of d's arms, since none is alone
			for _, t := range p.b.Trials {
				t.Round += d.Rounds
				t.Blocks = slices.Clone(t.Blocks)
				for j := range t.Blocks {
					t.Blocks[j].Cycle += cycles
				}
				d.Arms[i].Trials = append(d.Arms[i].Trials, t)
			}
		}
		d.Rounds += run.Rounds
		d.MergedRounds = append(d.MergedRounds, run.Rounds)
		d.TrialCount += run.TrialCount
	}
	d.ID = fmt.Sprintf("%s and %d more", d.ID, len(runs)-1)
	return Assemble(d), nil
}

// oneEach returns one value for each run of a merged document: the geometric mean of the values of its rounds or, of
// metrics that are compared by rank and may be 0, the mean. Rounds of one run share what changes from run to run.
func oneEach(m metric, d result.Document, arm result.Arm, of func(result.Trial) float64) (all []float64) {
	first, runs := 1, d.MergedRounds
	if runs == nil {
		runs = []int{d.Rounds}
	}
	for _, rounds := range runs {
		one := arm
		one.Trials = slices.DeleteFunc(slices.Clone(arm.Trials), func(t result.Trial) bool { return t.Round < first || t.Round >= first+rounds })
		if in := values(one, of); len(in) > 0 {
			all = append(all, m.mean(in))
		}
		first += rounds
	}
	return all
}

// mean returns the geometric mean of values or, of a metric that is compared by rank, their mean.
func (m metric) mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		if !m.byRank {
			x = math.Log(x)
		}
		sum += x
	}
	if sum /= float64(len(values)); m.byRank {
		return sum
	}
	return math.Exp(sum)
}

// lastCycle returns the number of the last cycle of a run; 0: its arms did not take turns.
func lastCycle(d result.Document) (last int) {
	for _, arm := range d.Arms {
		for _, t := range arm.Trials {
			for _, b := range t.Blocks {
				last = max(last, b.Cycle)
			}
		}
	}
	return last
}

// difference returns the first property in which two runs differ; "": they differ in nothing that matters.
func difference(a, b result.Document, pairs []armPair, alone []result.Refusal) string {
	if a.Experiment != b.Experiment {
		return fmt.Sprintf("one is of %s, the other of %s", a.Experiment, b.Experiment)
	}
	if len(alone) > 0 {
		return "only one has " + place(result.Arm{Name: alone[0].Arm, Cell: alone[0].Cell})
	}
	for _, p := range pairs {
		if p.a.Name != p.b.Name {
			return fmt.Sprintf("one is of %s, the other of %s", p.a.Name, p.b.Name)
		}
	}
	if differ := differences(a, b, pairs); len(differ) > 0 {
		return fmt.Sprintf("%s is %s in one, %s in the other", differ[0].What, valueOrNotSet(differ[0].A), valueOrNotSet(differ[0].B))
	}
	return ""
}
