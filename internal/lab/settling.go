package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// settling is a warm-up until rate and latency of every caller were steady. A caller that is steady first continues, because
// the others would settle at a part of the load.
type settling struct {
	began time.Time
	end   func()

	mu      sync.Mutex
	callers []measure.Steady
	waits   []bool // for this caller
}

// newSettling calls end when all callers were steady.
func newSettling(callers int, end func()) *settling {
	s := &settling{began: time.Now(), end: end, callers: make([]measure.Steady, callers), waits: make([]bool, callers)}
	for i := range s.waits {
		s.waits[i] = true
	}
	return s
}

// add adds a second of a caller.
func (s *settling) add(caller int, second measure.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers, err := measure.MergeHistograms([]string{second.Latency})
	if err != nil || !s.waits[caller] {
		return
	}
	rate := float64(answers.TotalCount()) / second.Span.Seconds()
	if s.waits[caller] = !s.callers[caller].Add(rate, time.Duration(answers.ValueAtPercentile(50))); s.steady() {
		s.end()
	}
}

func (s *settling) steady() bool { return !slices.Contains(s.waits, true) }

// warmUp returns the warm-up after its end.
func (s *settling) warmUp() result.WarmUp {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := result.WarmUp{TookMS: result.Milliseconds(time.Since(s.began)), Steady: s.steady()}
	for i, waits := range s.waits {
		if waits {
			w.NeedsMS = max(w.NeedsMS, result.Milliseconds(s.callers[i].Needs()))
		}
	}
	return w
}

// warmUpUntilSteady makes the calls of a load until its rate and latency are steady, for a limited time.
func warmUpUntilSteady(ctx context.Context, calls caller.Session, plan pace.Pace, atMost time.Duration) (w result.WarmUp, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newSettling(1, cancel)
	if err := warmUpLike(ctx, calls, plan, atMost, func(second measure.Snapshot) { s.add(0, second) }); err != nil {
		return w, err
	}
	return s.warmUp(), nil
}

// warmUpLike makes the calls of a load until ctx ends, for a limited time.
func warmUpLike(ctx context.Context, calls caller.Session, plan pace.Pace, atMost time.Duration, watch func(measure.Snapshot)) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if _, _, err := calls.Run(ctx, pace.Warmup(plan, atMost), measure.StartSignal{OnSnapshot: watch}); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}
