package verdict

import (
	"slices"
	"time"
)

// window is the sum of several intervals.
type window struct {
	ready   float64 // calls to ready backends
	squares float64 // Σx² over all backends
}

// windows returns the complete windows that start at interval first or later.
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

// inOrder returns the first interval of [from, to) after which no interval has misdirected calls.
func (t Timeline) inOrder(from, to int, ready []string) int {
	for i := to - 1; i >= from; i-- {
		if t.outOfOrder(i, ready) {
			return i + 1
		}
	}
	return from
}

func (t Timeline) outOfOrder(i int, ready []string) bool {
	var all uint64
	idle := 0
	for id, series := range t.Calls {
		calls := sum(series[min(i, len(series)):min(i+1, len(series))])
		if calls > 0 && !slices.Contains(ready, id) {
			return true
		}
		all += calls
	}
	for _, id := range ready {
		if series := t.Calls[id]; i >= len(series) || series[i] == 0 {
			idle++
		}
	}
	return idle > 0 && all >= fewestCalls*uint64(len(ready))
}

// intervals returns the number of intervals until t, rounded up.
func intervals(t, width time.Duration) int { return int((t + width - 1) / width) }
