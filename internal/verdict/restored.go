package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Timeline counts the calls that each backend answered in each interval.
// Interval i is from i·Width to (i+1)·Width after the start of the load.
type Timeline struct {
	Width time.Duration
	Calls map[string][]uint64 // missing values at the end of a series are 0
}

// Disturbance is an event, and the definition of balance after it. Times count from the start of the load.
// A zero Threshold, Window or Hold means its default.
type Disturbance struct {
	At    time.Duration
	Until time.Duration // the next event, or the end of the load
	Ready []string      // the backends that should receive calls after the event

	Threshold float64       // of the index; default 0.95
	Window    time.Duration // time over which calls are counted; default 1 s
	Hold      time.Duration // time for which balance must last; default 1 s
}

// Restoration is when balance was restored.
type Restoration struct {
	Took   time.Duration // since the event, in whole intervals, rounded up
	OK     bool
	Reason string // of !OK
	Cause  Cause  // Reason as fields
}

// fewestCalls is the number of calls per backend that a window needs.
const fewestCalls = 10

// Restored finds the earliest interval start t at or after the event such that the
// window from t, and every window that starts at an interval in [t, t+Hold], has
// an index of Threshold or more. Only windows that end by Until and by the end of the
// timeline count. Near that end fewer windows must agree, but at least one.
//
// The index is (Σ ready x)² / (k · Σ all x²) over k ready backends: Jain's index,
// except that calls to other backends reduce it. A window with fewer than 10 calls per ready backend is not
// balanced.
//
// Random assignment keeps the index below 1: with λ calls per backend and window its mean is near 1/(1+1/λ),
// which is 0.95 at λ = 19. Reaching the threshold reliably takes [CallsNeeded], about 100. With fewer
// calls balance may exist and not be found, and Reason says so. Round robin is found from 10 calls on.
//
// At a threshold of 0.95 a part of a window may be unbalanced. So t moves past the last interval of its
// window in which a backend that is not ready received calls, or a ready one received none although its
// share was at least 10.
func Restored(line Timeline, d Disturbance) Restoration {
	d = d.withDefaults()
	w := line.Width
	if w <= 0 || w > d.Window {
		return Restoration{Reason: fmt.Sprintf("intervals of %v do not fit a window of %v", w, d.Window), Cause: Cause{Kind: CauseWindow}}
	}
	if len(d.Ready) == 0 {
		return Restoration{Reason: "no backend is ready", Cause: Cause{Kind: CauseBackends}}
	}
	first := max(0, intervals(d.At, w))
	windows := line.windows(d, first)
	if len(windows) == 0 {
		return Restoration{Reason: fmt.Sprintf("the next event, or the end of the load, came within %g s", d.Window.Seconds()), Cause: Cause{Kind: CauseTime}}
	}
	hold := int(d.Hold / w)
	run := 0 // consecutive balanced windows, backwards from the end
	found := -1
	for i, win := range slices.Backward(windows) {
		if win.balanced(d) {
			run++
		} else {
			run = 0
		}
		if run >= min(hold+1, len(windows)-i) {
			found = i
		}
	}
	if found < 0 {
		return missing(windows, d)
	}
	from := line.inOrder(first+found, first+found+intervals(d.Window, w), d.Ready)
	return Restoration{Took: time.Duration(from)*w - d.At, OK: true}
}

// CallsNeeded is the number of calls per backend and window with which random assignment to k backends
// reaches the threshold, in (0, 1), 999 times in 1,000: the index is
// 1/(1+X²/n), and X² follows chi-square with k-1 degrees of freedom.
func CallsNeeded(k int, threshold float64) float64 {
	if k < 2 {
		return 0
	}
	q := chiSquareQuantile(0.999, float64(k-1))
	return q / (float64(k) * (1/threshold - 1))
}

// missing says why no balance was found, from the median window.
func missing(windows []window, d Disturbance) Restoration {
	calls := make([]float64, len(windows))
	for i, w := range windows {
		calls[i] = w.ready / float64(len(d.Ready))
	}
	slices.Sort(calls)
	have, need := calls[len(calls)/2], max(CallsNeeded(len(d.Ready), d.Threshold), fewestCalls)
	if have < need {
		need = math.Ceil(need)
		return Restoration{Reason: fmt.Sprintf("%.0f calls per backend in %g s are too few to tell balance from chance; %.0f are enough", have, d.Window.Seconds(), need),
			Cause: Cause{Kind: CauseCalls, Have: math.Round(have), Needed: need}}
	}
	return Restoration{Reason: fmt.Sprintf("Jain's index stayed under %g until the next event or the end", d.Threshold), Cause: Cause{Kind: CauseUneven}}
}

func (d Disturbance) withDefaults() Disturbance {
	if !(d.Threshold > 0 && d.Threshold < 1) {
		d.Threshold = 0.95
	}
	if d.Window <= 0 {
		d.Window = time.Second
	}
	if d.Hold <= 0 {
		d.Hold = time.Second
	}
	return d
}

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
