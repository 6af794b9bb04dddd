package lab

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// Together makes one run of several of the same: their trials are those of its arms.
// Loads, which are one trial each, can be compared so, and runs that alternated with
// those that they are compared with. It fails where they are not of the same machine,
// arms and settings.
func Together(runs []result.Document) (result.Document, error) {
	d := runs[0]
	if len(runs) == 1 {
		return d, nil
	}
	d.Arms = slices.Clone(d.Arms)
	for i := range d.Arms {
		d.Arms[i].Trials = slices.Clone(d.Arms[i].Trials)
	}
	for _, run := range runs[1:] {
		pairs, alone := partners(d, run)
		if why := apart(d, run, pairs, alone); why != "" {
			return d, fmt.Errorf("%s and %s cannot stand together: %s", runs[0].ID, run.ID, why)
		}
		for i, p := range pairs { // in the order of d's arms, since none is alone
			for _, t := range p.b.Trials {
				t.Round += d.Rounds
				d.Arms[i].Trials = append(d.Arms[i].Trials, t)
			}
		}
		d.Rounds += run.Rounds
		d.TrialCount += run.TrialCount
	}
	d.ID = fmt.Sprintf("%s and %d more", d.ID, len(runs)-1)
	return Assemble(d), nil
}

// apart says what is not the same in two runs; "": nothing that matters.
func apart(a, b result.Document, pairs []acrossPair, alone []result.Refusal) string {
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
		return fmt.Sprintf("%s is %s in one, %s in the other", differ[0].What, orNone(differ[0].A), orNone(differ[0].B))
	}
	return ""
}
