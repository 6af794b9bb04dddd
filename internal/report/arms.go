package report

import (
	"slices"

	"rpclab/internal/result"
)

// searched says whether any arm has a capacity search.
func searched(d result.Document) bool {
	return slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Capacity != nil })
}

// callerCount is how many processes shared each load of an arm, at least 1.
func callerCount(a result.Arm) int {
	n := 1
	for _, t := range a.Trials {
		n = max(n, len(t.Callers))
	}
	return n
}

func lostShare(d result.Document, arm string) float64 {
	lost, due := losses(d, arm)
	return float64(lost) / float64(max(due, 1))
}

// measured says whether any arm has an answer or an error to show.
func measured(d result.Document) bool {
	for _, arm := range d.Arms {
		if arm.Calls > 0 || arm.Dropped > 0 {
			return true
		}
	}
	return false
}

// limitedArms are the arms in which the load generator was the bottleneck.
func limitedArms(d result.Document) (names []string) {
	for _, a := range d.Arms {
		if name := clean(a.Name); a.Limited != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// armNames are the names of the arms, each once.
func armNames(d result.Document) (names []string) {
	for _, a := range d.Arms {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// losses counts the calls of an arm that failed or were dropped, and all that were due, over all cells.
func losses(d result.Document, arm string) (lost, due uint64) {
	for _, a := range d.Arms {
		if a.Name == arm {
			lost, due = lost+a.Failed()+a.Dropped, due+a.Calls+a.Dropped
		}
	}
	return lost, due
}

// cells are the points of the sweep, in the order of the document.
func cells(d result.Document) []result.Cell {
	var all []result.Cell
	seen := map[string]bool{}
	for _, arm := range d.Arms {
		if key := arm.Cell.Key(); !seen[key] {
			seen[key] = true
			all = append(all, arm.Cell)
		}
	}
	return all
}

func armsIn(d result.Document, cell result.Cell) []result.Arm {
	var arms []result.Arm
	for _, arm := range d.Arms {
		if arm.Cell.Key() == cell.Key() {
			arms = append(arms, arm)
		}
	}
	return arms
}

func armOf(d result.Document, name string, cell result.Cell) (result.Arm, bool) {
	for _, arm := range armsIn(d, cell) {
		if arm.Name == name {
			return arm, true
		}
	}
	return result.Arm{}, false
}

// armName is the name with the marks that the legend explains.
func armName(a result.Arm) string {
	name := clean(a.Name)
	if a.Published {
		name += "*"
	}
	if a.Limited != "" {
		name += "†"
	}
	return name
}
