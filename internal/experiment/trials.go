package experiment

import (
	"math/rand/v2"
	"slices"

	"rpclab/internal/nearest"
)

// plan lays the trials out: in every round every cell, in every cell each arm
// once, in an order drawn from the seed. Arms that are compared so run close in
// time, and what drifts meanwhile (heat, other load) falls on all of them alike.
func plan(r resolved, o Options) (Plan, error) {
	e := r.experiment
	picked, err := pick(e, o.Arms)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Name: e.Name, Question: e.Question, Source: e.Source, Baseline: e.Baseline,
		Rounds: e.Rounds, Margin: float64(e.Margin) / 100, Seed: o.Seed, Quick: o.Quick, Cells: r.cells, Size: e.Size,
	}
	has := func(name string) bool { return index(p.Arms, name) >= 0 }
	for _, i := range picked {
		p.Arms = append(p.Arms, e.Arms[i])
	}
	for i := range p.Arms {
		if !has(p.Arms[i].Control) {
			p.Arms[i].Control = ""
		}
	}
	if !has(p.Baseline) {
		p.Baseline = p.Arms[0].Name
	}
	p.Confounds = slices.DeleteFunc(slices.Clone(e.Confounds), func(c Confound) bool {
		return !has(c.Published) || !has(c.Controlled)
	})
	p.Published = slices.DeleteFunc(slices.Clone(e.Published), func(f Published) bool { return !has(f.Arm) })
	p.Trials = trials(r, picked, o.Seed)
	return p, nil
}

func trials(r resolved, picked []int, seed uint64) []Trial {
	var all []Trial
	random := rand.New(rand.NewPCG(seed, 0))
	for round := 1; round <= r.experiment.Rounds; round++ {
		for c, point := range r.cells {
			for _, i := range random.Perm(len(picked)) {
				arm := picked[i]
				all = append(all, Trial{
					Order: len(all), Round: round, Arm: r.experiment.Arms[arm].Name, Cell: point,
					Config: r.configs[arm][c], Events: r.experiment.Events, Seed: random.Uint64(),
				})
			}
		}
	}
	return all
}

// pick returns the places of the arms that were asked for, in the order of the
// document; all when none was.
func pick(e Experiment, names []string) ([]int, error) {
	var all []string
	for _, arm := range e.Arms {
		all = append(all, arm.Name)
	}
	var c problems
	for _, name := range names {
		if !slices.Contains(all, name) {
			c.add(place{file: "--arms " + name}, "no arm %q%s", name, nearest.Suggest(name, all))
		}
	}
	var picked []int
	for i, name := range all {
		if len(names) == 0 || slices.Contains(names, name) {
			picked = append(picked, i)
		}
	}
	return picked, c.err()
}
