package verdict

import (
	"slices"
	"time"
)

// window sums the calls of some intervals.
type window struct {
	ready   float64 // calls to backends that should get them
	squares float64 // Σx² over all backends
}

// windows are those that start at interval first or later and are wholly seen.
func (t Timeline) windows(d Disturbance, first int) []window {
	end := int(d.Until / t.Width)
	longest := 0
	for _, series := range t.Calls {
		longest = max(longest, len(series))
	}
	size := intervals(d.Window, t.Width)
	var all []window
	for i := first; i+size <= min(end, longest); i++ {
		all = append(all, t.window(i, i+size, d.Ready))
	}
	return all
}

func (t Timeline) window(from, to int, ready []string) window {
	var w window
	for id, series := range t.Calls {
		x := float64(sum(series[min(from, len(series)):min(to, len(series))]))
		w.squares += x * x
		if slices.Contains(ready, id) {
			w.ready += x
		}
	}
	return w
}

func (w window) balanced(d Disturbance) bool {
	k := float64(len(d.Ready))
	return w.ready >= fewestCalls*k && w.ready*w.ready >= d.Threshold*k*w.squares
}

// intervals is how many of them reach t, rounded up.
func intervals(t, width time.Duration) int { return int((t + width - 1) / width) }
