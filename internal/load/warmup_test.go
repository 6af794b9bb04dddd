package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// slowClient is a client of users whose calls all take the same time.
type slowClient struct{ took time.Duration }

func (c slowClient) Run(ctx context.Context, plan pace.Pace, live *Progress) (*measure.Recorder, time.Time, error) {
	for start := time.Now(); ctx.Err() == nil; {
		due := time.Since(start)
		select {
		case <-time.After(c.took):
		case <-ctx.Done():
			return nil, start, nil
		}
		for range plan.InFlight() {
			live.CallEnded(measure.Call{Due: due, Sent: due, Done: time.Since(start), Code: measure.OK})
		}
	}
	return nil, time.Time{}, nil
}

func (slowClient) ReplyBytes() int { return 0 }

func (slowClient) Close() error { return nil }

func TestAWarmUpFitsLongCalls(t *testing.T) {
	for _, c := range []struct {
		took, atMost time.Duration
		want         result.WarmUp
	}{
		{10 * time.Millisecond, time.Minute, result.WarmUp{Steady: true, TookMS: 6e3}},
		{2500 * time.Millisecond, 5 * time.Minute, result.WarmUp{Steady: true, TookMS: 20e3}},
		{9500 * time.Millisecond, time.Minute, result.WarmUp{TookMS: 60e3, NeedsMS: 69e3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			load := &Load{settings: Settings{WarmupMax: c.atMost}, pace: pace.Closed{Users: 3, Duration: time.Second}, client: slowClient{c.took}}
			got, err := load.warmUp(t.Context(), NewProgress())
			if err != nil || *got != c.want {
				t.Errorf("calls of %v: the warm-up was %+v, %v; want %+v", c.took, got, err, c.want)
			}
		})
	}
}
