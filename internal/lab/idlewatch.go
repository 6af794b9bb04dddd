package lab

import "time"

// idleWatch measures the CPU time of each arm while other arms have their turn.
type idleWatch struct {
	began       time.Time
	cpu         []func() (time.Duration, bool) // CPU time so far; false: not known
	before      []time.Duration
	known       []bool
	cpuInTurns  []time.Duration
	timeInTurns []time.Duration
}

// newIdleWatch starts to measure arms. cpu[i] returns the CPU time of arm i so far.
func newIdleWatch(cpu []func() (time.Duration, bool)) *idleWatch {
	n := len(cpu)
	w := &idleWatch{began: time.Now(), cpu: cpu, before: make([]time.Duration, n), known: make([]bool, n), cpuInTurns: make([]time.Duration, n), timeInTurns: make([]time.Duration, n)}
	for i, used := range cpu {
		w.before[i], w.known[i] = used()
	}
	return w
}

// turn starts a turn of arm i. The returned function ends it.
func (w *idleWatch) turn(i int) (end func()) {
	start := time.Now()
	before, _ := w.cpu[i]()
	return func() {
		after, known := w.cpu[i]()
		w.known[i] = w.known[i] && known
		w.cpuInTurns[i] += after - before
		w.timeInTurns[i] += time.Since(start)
	}
}

// share returns the CPU time that arm i used outside its turns, divided by the elapsed time outside its turns;
// nil: not known.
func (w *idleWatch) share(i int) *float64 {
	now, known := w.cpu[i]()
	others := time.Since(w.began) - w.timeInTurns[i]
	if !known || !w.known[i] || others <= 0 {
		return nil
	}
	used := max(0, now-w.before[i]-w.cpuInTurns[i])
	return new(used.Seconds() / others.Seconds())
}

// total returns the CPU time of all arms; false: not known.
func (w *idleWatch) total() (all time.Duration, known bool) {
	for i, used := range w.cpu {
		now, ok := used()
		if !ok || !w.known[i] {
			return 0, false
		}
		all += now - w.before[i]
	}
	return all, true
}
