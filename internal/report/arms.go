package report

import (
	"cmp"
	"maps"
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

// losses are calls that failed or were dropped, of all that were due.
type losses struct{ lost, due uint64 }

func (l losses) share() float64 { return float64(l.lost) / float64(max(l.due, 1)) }

// lossesByArm counts the losses of each arm over all cells.
func lossesByArm(d result.Document) map[string]losses {
	all := map[string]losses{}
	for _, a := range d.Arms {
		l := all[a.Name]
		all[a.Name] = losses{l.lost + a.Failed() + a.Dropped, l.due + a.Calls + a.Dropped}
	}
	return all
}

// byLosses sorts arms, those that lost the most first.
func byLosses(names []string, of map[string]losses) {
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of[b].share(), of[a].share()) })
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
func limitedArms(d result.Document) []string {
	var names distinct
	for _, a := range d.Arms {
		if a.Limited != "" {
			names.add(clean(a.Name))
		}
	}
	return names.list
}

// verdictsByArm are the headline verdicts on each arm in its cell, or against it, and those on latency if no headline
// metric is.
func verdictsByArm(d result.Document) map[result.ArmKey][]result.Verdict {
	all := map[result.ArmKey][]result.Verdict{}
	asksOfLatency := len(d.Headline) == 0 || slices.ContainsFunc(d.Headline, isLatency)
	for _, v := range d.Verdicts {
		if v.Secondary && (asksOfLatency || !isLatency(v.Metric)) {
			continue
		}
		for _, name := range []string{v.A, v.B} {
			key := result.ArmKey{Name: name, Cell: v.Cell.Key()}
			all[key] = append(all[key], v)
		}
	}
	return all
}

// limitedVerdicts are the headline verdicts on arms in which the load generator was the bottleneck.
func limitedVerdicts(d result.Document) (all []result.Verdict) {
	verdicts := verdictsByArm(d)
	for _, a := range d.Arms {
		if a.Limited != "" {
			all = append(all, verdicts[a.Key()]...)
		}
	}
	return all
}

// limitedMetrics names the metrics without a verdict because the load generator was the bottleneck; "": none.
// anyFit reports whether there is a verdict on another.
func limitedMetrics(verdicts []result.Verdict) (metrics string, anyFit bool) {
	var limited distinct
	for _, v := range verdicts {
		if v.Cause != nil && v.Cause.Kind == result.CauseGenerator {
			limited.add(metricName(v.Metric))
		}
		anyFit = anyFit || !v.Unfit
	}
	return and(limited.list), anyFit
}

// bottleneckEffect says on what there is no verdict because the load generator was the bottleneck; "": on no headline
// metric.
func bottleneckEffect(d result.Document) string {
	switch metrics, anyFit := limitedMetrics(limitedVerdicts(d)); {
	case !anyFit:
		return "no latency verdict"
	case metrics == "":
		return ""
	default:
		return "no verdict " + metrics
	}
}

// armNames are the names of the arms, each once.
func armNames(d result.Document) []string {
	var names distinct
	for _, a := range d.Arms {
		names.add(a.Name)
	}
	return names.list
}

// armsByName groups the arms by their names: each group is one arm in all its cells.
func armsByName(d result.Document) map[string][]result.Arm {
	all := map[string][]result.Arm{}
	for _, a := range d.Arms {
		all[a.Name] = append(all[a.Name], a)
	}
	return all
}

// distinct are texts in the order of their first occurrence.
type distinct struct {
	list []string
	seen map[string]bool
}

func (d *distinct) add(text string) {
	if d.seen[text] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[text] = true
	d.list = append(d.list, text)
}

// cells are the points of the sweep, in the order of the document.
func cells(d result.Document) (all []result.Cell) {
	for _, in := range d.ArmsByCell() {
		all = append(all, in.Cell)
	}
	return all
}

// ratioKey is what a verdict is on.
type ratioKey struct{ metric, a, b, cell string }

// ratiosByKey are the verdicts that have a ratio.
func ratiosByKey(d result.Document) map[ratioKey]result.Verdict {
	all := map[ratioKey]result.Verdict{}
	for _, v := range d.Verdicts {
		key := ratioKey{v.Metric, v.A, v.B, v.Cell.Key()}
		if _, known := all[key]; !known && v.Ratio > 0 {
			all[key] = v
		}
	}
	return all
}

// callsOf returns the calls of an arm by their names as arms with these calls alone; nil: the arm makes one call.
func callsOf(a result.Arm) (all []result.Arm) {
	for _, name := range slices.Sorted(maps.Keys(a.ByName)) {
		c := a.ByName[name]
		all = append(all, result.Arm{Name: a.Name + " · " + name, Cell: a.Cell, Config: a.Config,
			Measures: result.Measures{Calls: c.Due - c.Dropped, Errors: c.Errors, Dropped: c.Dropped, Latency: c.Latency}})
	}
	return all
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
