package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// searchOf searches with loads whose measures a function computes from the rate (calls/s).
func searchOf(t *testing.T, slo string, measures func(rate float64) result.Trial) result.Trial {
	t.Helper()
	planned := experiment.Trial{Config: experiment.Config{Load: experiment.Load{Search: &experiment.Search{
		SLO: slo, From: 20, To: 4000, Precision: 5, Duration: time.Second, MaxInFlight: 5,
	}}}}
	found, err := searchCapacity(t.Context(), planned, result.Trial{}, func(_ context.Context, o loadRequest) (result.Trial, error) {
		if o.Pace.Rate.Max != 5 || o.Limit != o.Pace.Rate.Duration+time.Second {
			t.Errorf("the load is %+v, with the limit %v", *o.Pace.Rate, o.Limit)
		}
		trial := measures(o.Pace.Rate.PerSecond)
		if trial.Errors == nil {
			trial.Errors = map[string]uint64{}
		}
		return trial, nil
	}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Calls over 50/s are dropped, or fail. Dropped calls do not slow the answered ones.
func TestASearchForARateCountsSuccessfulCalls(t *testing.T) {
	for name, c := range map[string]struct {
		lost func(trial *result.Trial, calls uint64)
		end  search.End
	}{
		"dropped": {func(trial *result.Trial, calls uint64) { trial.Dropped = calls }, search.HighestHolds},
		"failed": {func(trial *result.Trial, calls uint64) {
			trial.Calls += calls
			trial.Rate = float64(trial.Calls) / 100
			trial.Errors = map[string]uint64{"UNAVAILABLE": trial.Calls}
		}, search.Found},
	} {
		trial := searchOf(t, "rate >= 20/s", func(rate float64) (trial result.Trial) {
			answered := min(rate, 50)
			trial.Calls, trial.Rate = uint64(100*answered), answered
			if rate > 50 {
				c.lost(&trial, uint64(100*(rate-answered)))
			}
			return trial
		})
		if found := trial.Capacity; found.End != string(c.end) || c.end == search.Found && found.Holds > 50 {
			t.Errorf("%s: holds %g/s, ended with %q, want %q", name, found.Holds, found.End, c.end)
		}
	}
}

func TestASearchCountsDroppedCallsAsErrors(t *testing.T) {
	trial := searchOf(t, "errors < 1%", func(rate float64) (trial result.Trial) {
		answered := min(rate, 50)
		trial.Calls, trial.Dropped = uint64(100*answered), uint64(100*(rate-answered))
		return trial
	})
	if c := trial.Capacity; c.End != string(search.Found) || math.Abs(c.Rate/50.5-1) > 0.05 || trial.Failed != "" {
		t.Errorf("found %+v, failed %q", *c, trial.Failed)
	}
	if trial.Dropped*100 > trial.Calls {
		t.Errorf("the trial has the measures of a probe that dropped %d calls of %d", trial.Dropped, trial.Calls)
	}
}

func TestASearchWithoutARateReportsWhy(t *testing.T) {
	fails := result.Trial{Measures: result.Measures{Calls: 1, Dropped: 1}}
	late := fails
	late.Limited = "rpclab sent calls late"
	for want, measures := range map[string]result.Trial{
		"not even 20/s, the lowest; lower load.search.from":                                            fails,
		"the load generator was the bottleneck at 20/s rpclab sent calls late; lower load.search.from": late,
	} {
		trial := searchOf(t, "errors < 1%", func(float64) result.Trial { return measures })
		if !strings.HasPrefix(trial.Failed, "no rate was found at which errors < 1% holds: "+want) {
			t.Errorf("failed for %q, want %q", trial.Failed, want)
		}
	}
}

func TestAProbeThatTheGeneratorLimitedIsNotAFailureOfTheServers(t *testing.T) {
	trial := searchOf(t, "errors < 1%", func(rate float64) (trial result.Trial) {
		trial.Calls = 100
		if rate > 300 {
			trial.Dropped, trial.Limited = 50, "rpclab sent calls late"
		}
		return trial
	})
	c := trial.Capacity
	if want := fmt.Sprintf("at %v/s rpclab sent calls late", lowestLimited(c.Probes)); c.End != string(search.GeneratorLimited) || trial.Limited != want || trial.Failed != "" {
		t.Errorf("found %+v, limited %q, failed %q", *c, trial.Limited, trial.Failed)
	}
}

func lowestLimited(probes []result.Probe) float64 {
	lowest := math.Inf(1)
	for _, p := range probes {
		if p.Full && p.Limited != "" {
			lowest = min(lowest, p.Rate)
		}
	}
	return lowest
}

func TestAProbeThatFailsEndsTheSearchAndKeepsTheProbesBefore(t *testing.T) {
	planned := experiment.Trial{Config: experiment.Config{Load: experiment.Load{Search: &experiment.Search{
		SLO: "errors < 1%", From: 20, To: 4000, Precision: 5, Duration: time.Second,
	}}}}
	for name, interrupt := range map[string]bool{"the caller died": false, "interrupted after 1 probe": true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		loads := 0
		trial, err := searchCapacity(ctx, planned, result.Trial{}, func(ctx context.Context, _ loadRequest) (trial result.Trial, _ error) {
			switch loads++; {
			case loads == 1:
				trial.Calls, trial.Errors = 1, map[string]uint64{}
			case interrupt:
				cancel()
			default:
				trial.Failed = name
			}
			return trial, ctx.Err()
		}, func(string) {})
		if trial.Failed != name || len(trial.Capacity.Probes) != 1 || errors.Is(err, context.Canceled) != interrupt {
			t.Errorf("%s: %d probes, failed %q, %v", name, len(trial.Capacity.Probes), trial.Failed, err)
		}
	}
}
