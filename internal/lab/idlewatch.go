package lab

import (
	"time"

	"rpclab/internal/measure"
)

// idleWatch measures the CPU time of each arm while other arms have their turn.
type idleWatch struct {
	began   time.Time
	of      []func() (time.Duration, bool) // CPU time so far; false: not known
	before  []time.Duration
	known   []bool
	inTurns []time.Duration // CPU time
	turns   []time.Duration // elapsed
}

func (in *interleaving) watchIdle() *idleWatch {
	n := len(in.arms)
	w := &idleWatch{began: time.Now(), before: make([]time.Duration, n), known: make([]bool, n), inTurns: make([]time.Duration, n), turns: make([]time.Duration, n)}
	for i, a := range in.arms {
		w.of = append(w.of, a.cpu)
		w.before[i], w.known[i] = a.cpu()
	}
	return w
}

// cpu returns the CPU time so far of the arm's processes; false: some are on other machines.
func (a *interleavedArm) cpu() (all time.Duration, known bool) {
	if a.started == nil || a.started.loader.remote {
		return 0, false
	}
	for _, p := range append(a.started.bed.processes(), a.started.callers.localProcesses()...) {
		used, err := measure.CPU(p.PID)
		if err != nil {
			return 0, false
		}
		all += used
	}
	return all, true
}

// turn begins a turn of arm i. The returned function ends it.
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

// share returns the CPU time of arm i outside its turns as a share of that time; nil: not known.
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
