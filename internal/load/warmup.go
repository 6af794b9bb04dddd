package load

import (
	"context"
	"fmt"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// warmUp makes calls that are not measured: a number of them, then those of the load until it is
// steady. The result is nil if the second was not asked for.
func (l *Load) warmUp(ctx context.Context, live *Progress) (*result.WarmUp, error) {
	calls, atMost := l.settings.Warmup, l.settings.WarmupMax
	if calls > 0 {
		live.setPhase("warming up")
		users := min(calls, l.pace.InFlight())
		if _, _, err := l.client.Run(ctx, pace.Closed{Users: users, Calls: uint64(calls)}, nil); err != nil {
			return nil, fmt.Errorf("warm-up: %w", err)
		}
	}
	if atMost > 0 && ctx.Err() == nil {
		live.setPhase("warming up until rate and latency are steady")
		return l.warmUpUntilSteady(ctx, atMost)
	}
	return nil, nil
}

func (l *Load) warmUpUntilSteady(ctx context.Context, atMost time.Duration) (*result.WarmUp, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	plan := l.pace
	if limited, ok := plan.(limitedPace); ok {
		plan = limited.Pace
	}
	seen, start := NewProgress(), time.Now()
	warmed, ended := &result.WarmUp{}, make(chan struct{})
	go func() {
		defer close(ended)
		second := time.NewTicker(measure.SnapshotInterval)
		defer second.Stop()
		for steady := (measure.Steady{}); ; {
			select {
			case <-second.C:
			case <-ctx.Done():
				warmed.NeedsMS = result.Milliseconds(steady.Needs())
				return
			}
			if s := seen.Snapshot(); steady.Add(s.Rate, time.Duration(s.P50*float64(time.Millisecond))) {
				warmed.Steady = true
				cancel()
				return
			}
		}
	}()
	_, _, err := l.client.Run(ctx, pace.Warmup(plan, atMost), seen)
	cancel()
	<-ended
	if err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	warmed.TookMS = result.Milliseconds(time.Since(start))
	return warmed, nil
}

// addWarmUp adds the warm-up, which may be nil, to the first trial of a document.
func addWarmUp(document result.Document, warmed *result.WarmUp) result.Document {
	document.Arms[0].Trials[0].WarmUp = warmed
	if warmed != nil && !warmed.Steady {
		document.Warnings = append(document.Warnings, analysis.Unsteady(*warmed, "--warmup-max"))
	}
	return document
}
