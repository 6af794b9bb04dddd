package pace_test

import (
	"testing"
	"time"

	"rpclab/internal/pace"
)

func TestWarmupIsLikeTheLoad(t *testing.T) {
	const limit = 20 * time.Second
	stages := pace.Stages{Stages: []pace.Stage{{Duration: time.Second, Rate: 10}, {Duration: time.Second, Rate: 300}, {Duration: time.Second}}, Max: 7}
	for name, c := range map[string]struct{ load, want pace.Pace }{
		"open":   {pace.Rate{PerSecond: 100, Duration: time.Minute, Max: 7}, pace.Rate{PerSecond: 100, Duration: limit, Max: 7}},
		"stages": {stages, pace.Rate{PerSecond: 300, Duration: limit, Max: 7}},
		"closed": {pace.Closed{Users: 5, Think: time.Second, Calls: 9}, pace.Closed{Users: 5, Think: time.Second, Duration: limit}},
		"burst":  {pace.Burst{Calls: 10_000}, pace.Closed{Users: 50, Duration: limit}},
	} {
		if got := pace.Warmup(c.load, limit); got != c.want {
			t.Errorf("%s: warm-up %+v, want %+v", name, got, c.want)
		}
	}
}
