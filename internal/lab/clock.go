package lab

import (
	"context"
	"fmt"
	"time"
)

// pings are how often a worker is asked what time it is, of which the quickest answer counts.
const pings = 5

// readClock learns how far the worker's clock is ahead of the lab's, and says how long its
// slowest answer took. The quickest was given half-way, but for half the way at the most, so clocks
// that are closer than that are taken for the same: those of one machine are.
func (w *worker) readClock(ctx context.Context) (slowest time.Duration, err error) {
	var trip time.Duration
	for i := range pings {
		sent := time.Now()
		if err := w.tell(order{Clock: true}); err != nil {
			return 0, err
		}
		r, err := w.next(ctx)
		if err != nil {
			return 0, err
		}
		if r.Clock.IsZero() {
			return 0, fmt.Errorf("%s did not say what time it is", w.who)
		}
		took := time.Since(sent)
		slowest = max(slowest, took)
		if i == 0 || took < trip {
			trip, w.ahead = took, r.Clock.Sub(sent.Add(took/2))
		}
	}
	if w.ahead.Abs() <= trip/2 {
		w.ahead = 0
	}
	return slowest, nil
}
