package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// timelines draws, for one trial of each arm, how many backends shared the calls over time: Jain's index times
// the number of backends, (Σx)² ÷ Σx² (Jain, Chiu and Hawe, 1984). It is 1 if one backend received all calls,
// and n if n backends received equally many.
func timelines(p *page, d result.Document) {
	for _, in := range d.ArmsByCell() {
		arms := in.All
		round := roundDrawn(arms)
		var rows []stripe
		var others []string // arms drawn from another round
		top, length := 1.0, 0.0
		for _, arm := range arms {
			trial, ok := timelineOf(arm, round)
			if !ok {
				continue
			}
			t := trial.Timeline
			if rows == nil {
				rows = append(rows, stripe{label: "", marks: eventMarks(trial)}, stripe{label: "ready", values: readyOver(t)})
			}
			if trial.Round != round {
				others = append(others, fmt.Sprintf("%s: round %d", clean(arm.Name), trial.Round))
			}
			rows = append(rows, stripe{label: clean(arm.Name), values: sharing(t)})
			for _, n := range t.Ready {
				top = max(top, float64(n))
			}
			length = max(length, float64(max(len(t.Ready), stepsOf(t)))*float64(t.IntervalMS)/1000)
		}
		if rows == nil {
			continue
		}
		for i := range rows {
			rows[i].top = top
		}
		drawn := fmt.Sprintf("round %d", round)
		if len(others) > 0 {
			drawn += " (" + strings.Join(others, ", ") + ")"
		}
		p.sub("How many backends share the calls, over time" + at(in.Cell))
		p.picture(rows)
		p.note(fmt.Sprintf("%s, %.1f s. The height is the number of backends that share the calls of the last half second, at most %.0f. "+
			"ready: the number of ready backends. An arm as high as ready calls all of them equally; in a gap no call was answered.",
			capital(drawn), length, top))
	}
}

// roundDrawn is the round that most arms have a timeline of, the earliest of those.
func roundDrawn(arms []result.Arm) int {
	have := map[int]int{}
	for _, arm := range arms {
		for _, t := range arm.Trials {
			if drawable(t) {
				have[t.Round]++
			}
		}
	}
	best := 0
	for _, round := range slices.Sorted(maps.Keys(have)) {
		if have[round] > have[best] {
			best = round
		}
	}
	return best
}

// timelineOf is the trial of that round, or the first with a timeline.
func timelineOf(a result.Arm, round int) (result.Trial, bool) {
	first := slices.IndexFunc(a.Trials, drawable)
	if first < 0 {
		return result.Trial{}, false
	}
	for _, t := range a.Trials {
		if t.Round == round && drawable(t) {
			return t, true
		}
	}
	return a.Trials[first], true
}

func drawable(t result.Trial) bool {
	return t.Timeline != nil && t.Timeline.IntervalMS > 0 && (len(t.Timeline.Ready) > 0 || stepsOf(t.Timeline) > 0)
}

func readyOver(t *result.Timeline) []float64 {
	var out []float64
	for _, n := range t.Ready {
		out = append(out, float64(n))
	}
	return out
}

func stepsOf(t *result.Timeline) int {
	most := 0
	for _, counts := range t.Backends {
		most = max(most, len(counts))
	}
	return most
}

// sharingWindow is how many ms of calls each point covers: enough calls to see balance at moderate rates.
const sharingWindow = 500

// sharing is how many backends share the calls in each interval; NaN without calls.
func sharing(t *result.Timeline) []float64 {
	window := max(1, int(sharingWindow/t.IntervalMS))
	out := make([]float64, stepsOf(t))
	for i := range out {
		from, to := max(0, i+1-window), i+1
		total, squares := 0.0, 0.0
		for _, counts := range t.Backends {
			calls := 0.0
			for _, n := range counts[min(from, len(counts)):min(to, len(counts))] {
				calls += float64(n)
			}
			total, squares = total+calls, squares+calls*calls
		}
		out[i] = math.NaN()
		if squares > 0 {
			out[i] = total * total / squares
		}
	}
	return out
}

func eventMarks(t result.Trial) map[int]string {
	marks := map[int]string{}
	events := slices.SortedFunc(slices.Values(t.Events), func(a, b result.Event) int { return cmp.Compare(a.AtMS, b.AtMS) })
	for _, e := range events {
		marks[int(e.AtMS)/int(t.Timeline.IntervalMS)] = "↓" + clean(e.What)
	}
	return marks
}
