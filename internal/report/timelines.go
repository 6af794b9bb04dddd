package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rpclab/internal/result"
)

// timelines draws, for one trial of each arm, how many backends shared the calls
// over time: Jain's index times the number of backends, (Σx)² ÷ Σx² (Jain, Chiu and
// Hawe, 1984). It is 1 when one backend got all and n when n got the same.
func timelines(p *page, d result.Document) {
	for _, cell := range cells(d) {
		var rows []stripe
		top, length := 1.0, 0.0
		for _, arm := range armsIn(d, cell) {
			trial, ok := firstTimeline(arm)
			if !ok {
				continue
			}
			t := trial.Timeline
			if rows == nil {
				rows = append(rows, stripe{label: "", marks: eventMarks(trial)}, stripe{label: "ready", values: ready(t)})
				length = float64(len(t.Ready)) * float64(t.IntervalMS) / 1000
			}
			rows = append(rows, stripe{label: clean(arm.Name), values: sharing(t)})
			for _, n := range t.Ready {
				top = max(top, float64(n))
			}
		}
		if rows == nil {
			continue
		}
		for i := range rows {
			rows[i].top = top
		}
		p.sub("How many backends share the calls, over time" + at(cell))
		p.picture(rows)
		p.note(fmt.Sprintf("%.1f s, the first round; each point looks back over half a second; the highest bar is %.0f backends. ready: how many there are. "+
			"An arm that follows looks like it; a low line means that few backends do the work.", length, top))
	}
}

func firstTimeline(a result.Arm) (result.Trial, bool) {
	for _, t := range a.Trials {
		if t.Timeline != nil && t.Timeline.IntervalMS > 0 && len(t.Timeline.Backends) > 0 {
			return t, true
		}
	}
	return result.Trial{}, false
}

func ready(t *result.Timeline) []float64 {
	var out []float64
	for _, n := range t.Ready {
		out = append(out, float64(n))
	}
	return out
}

// sharingWindow is over how many ms before a step its calls are added up: enough of
// them to see a balance at moderate rates.
const sharingWindow = 500

// sharing is NaN where no call ended.
func sharing(t *result.Timeline) []float64 {
	steps := 0
	for _, counts := range t.Backends {
		steps = max(steps, len(counts))
	}
	window := max(1, int(sharingWindow/t.IntervalMS))
	out := make([]float64, steps)
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
