package lab

import "time"

// idleWatch measures the CPU time of each arm while other arms have their turn.
type idleWatch struct {
	began   time.Time
	of      []func() (time.Duration, bool) // CPU time so far; false: not known
	before  []time.Duration
	known   []bool
	inTurns []time.Duration // CPU time
	turns   []time.Duration // elapsed
}

// newIdleWatch starts to measure arms. of[i] returns the CPU time of arm i so far.
func newIdleWatch(of []func() (time.Duration, bool)) *idleWatch {
	n := len(of)
	w := &idleWatch{began: time.Now(), of: of, before: make([]time.Duration, n), known: make([]bool, n), inTurns: make([]time.Duration, n), turns: make([]time.Duration, n)}
	for i, used := range of {
		w.before[i], w.known[i] = used()
	}
	return w
}

// turn starts a turn of arm i. The returned function ends it.
func (w *idleWatch) turn(i int) (end func()) {
	start := time.Now()
	before, _ := w.of[i]()
	return func() {
		after, known := w.of[i]()
		w.known[i] = w.known[i] && known
		w.inTurns[i] += after - before
		w.turns[i] += time.Since(start)
	}
}

// share returns the CPU time that arm i used outside its turns, divided by the elapsed time outside its turns;
// nil: not known.
func (w *idleWatch) share(i int) *float64 {
	now, known := w.of[i]()
	others := time.Since(w.began) - w.turns[i]
	if !known || !w.known[i] || others <= 0 {
		return nil
	}
	used := max(0, now-w.before[i]-w.inTurns[i])
	return new(used.Seconds() / others.Seconds())
}

// total returns the CPU time of all arms; false: not known.
func (w *idleWatch) total() (all time.Duration, known bool) {
	for i, of := range w.of {
		now, ok := of()
		if !ok || !w.known[i] {
			return 0, false
		}
		all += now - w.before[i]
	}
	return all, true
}
