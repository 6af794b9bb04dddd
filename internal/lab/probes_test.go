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
	reasons "rpclab/internal/result/failure"
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
	if want := fmt.Sprintf("at %.0f/s rpclab sent calls late", lowestLimited(c.Probes)); c.End != string(search.GeneratorLimited) || trial.Limited != want || trial.Failed != "" {
		t.Errorf("found %+v, limited %q, failed %q", *c, trial.Limited, trial.Failed)
	}
}

// No lateness makes a server fail calls. It can make calls fail at their deadline, or be dropped.
func TestALateProbeFailsByTheStatusesOfTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		slo     string
		errors  map[string]uint64
		reasons map[string][]reasons.Reason
		dropped uint64
		end     search.End
	}{
		"statuses":                       {"errors < 1%", map[string]uint64{"UNAVAILABLE": 33}, nil, 0, search.LowestFails},
		"statuses, and a met latency":    {"p99 < 5s and errors < 1%", map[string]uint64{"HTTP_503": 33}, nil, 0, search.LowestFails},
		"statuses of a code":             {"errors.UNAVAILABLE == 0", map[string]uint64{"UNAVAILABLE": 1}, nil, 0, search.LowestFails},
		"statuses, in the latency":       {"p95 < 5ms", map[string]uint64{"UNAVAILABLE": 33}, nil, 0, search.LowestFails},
		"too few statuses":               {"errors < 10%", map[string]uint64{"UNAVAILABLE": 5, "DEADLINE_EXCEEDED": 6}, nil, 0, search.GeneratorLimited},
		"too few statuses for a latency": {"p95 < 5ms", map[string]uint64{"UNAVAILABLE": 2, "CANCELLED": 30}, nil, 0, search.GeneratorLimited},
		"deadlines":                      {"errors < 1%", map[string]uint64{"DEADLINE_EXCEEDED": 33}, nil, 0, search.GeneratorLimited},
		"cancelled":                      {"errors < 1%", map[string]uint64{"CANCELLED": 33}, nil, 0, search.GeneratorLimited},
		"dropped":                        {"errors < 1%", nil, nil, 33, search.GeneratorLimited},
		"no free port": {"errors < 1%", map[string]uint64{"UNAVAILABLE": 33},
			map[string][]reasons.Reason{"UNAVAILABLE": {{Message: "connect: cannot assign requested address", Calls: 33}}}, 0, search.GeneratorLimited},
	} {
		trial := searchOf(t, c.slo, func(float64) (trial result.Trial) {
			trial.Calls, trial.Dropped, trial.Errors, trial.Reasons = 100, c.dropped, c.errors, c.reasons
			trial.Latency = result.Histogram{P50: 1, P95: 1000, P99: 1000, Max: 1000, Lost: trial.Measures.Lost()}
			trial.AnsweredLatency = &result.Histogram{P50: 1, P95: 1, P99: 1, Max: 1}
			trial.Limited = "rpclab sent calls late"
			return trial
		})
		if found := trial.Capacity; found.End != string(c.end) {
			t.Errorf("%s: the search for %s ended with %q, want %q: %q", name, c.slo, found.End, c.end, trial.Failed)
		}
	}
}

// Calls that were sent late at p90 or p99.9 alone fail an objective on that percentile, and no other one.
func TestAProbeIsLimitedAtThePercentileOfItsObjective(t *testing.T) {
	for name, c := range map[string]struct {
		slo               string
		latency, lateness result.Histogram // over 300/s
		end               search.End
	}{
		"late at p99.9":            {"p999 < 20ms", result.Histogram{P50: 5, P90: 5, P99: 6, P999: 50}, result.Histogram{P999: 45}, search.GeneratorLimited},
		"late at p90":              {"latency_p90 < 20ms", result.Histogram{P50: 5, P90: 25, P99: 100, P999: 100}, result.Histogram{P90: 4, P99: 5, P999: 5}, search.GeneratorLimited},
		"slow at p99.9":            {"p999 < 20ms", result.Histogram{P50: 5, P90: 5, P99: 6, P999: 50}, result.Histogram{P999: 0.4}, search.Found},
		"slow at p90":              {"p90 < 20ms", result.Histogram{P50: 5, P90: 25, P99: 30, P999: 50}, result.Histogram{P999: 45}, search.Found},
		"p99.9 is of lost calls":   {"p999 < 20ms", result.Histogram{P50: 5, P90: 5, P99: 6, P999: 50, Lost: 0.01}, result.Histogram{P999: 45}, search.Found},
		"late at another, and met": {"p90 < 20ms", result.Histogram{P50: 5, P90: 5, P99: 6, P999: 50}, result.Histogram{P999: 45}, search.HighestHolds},
	} {
		trial := searchOf(t, c.slo, func(rate float64) (trial result.Trial) {
			trial.Calls, trial.Latency = 10000, result.Histogram{P50: 5, P90: 5, P99: 5, P999: 5}
			if rate > 300 {
				trial.Latency, trial.Lateness = c.latency, c.lateness
			}
			return trial
		})
		if trial.Capacity.End != string(c.end) || (c.end == search.GeneratorLimited) != strings.Contains(trial.Limited, "ms late (p9") {
			t.Errorf("%s: ended with %q, limited %q, want %q", name, trial.Capacity.End, trial.Limited, c.end)
		}
	}
}

// An objective without a latency is met at any rate that the generator is asked for and does not make.
func TestARateThatWasNotMadeDoesNotHold(t *testing.T) {
	for late, end := range map[float64]search.End{40: search.GeneratorLimited, 1: search.HighestHolds} {
		trial := searchOf(t, "errors < 1%", func(rate float64) (trial result.Trial) {
			trial.Calls = 1000
			if rate > 300 {
				trial.Lateness, trial.Limited = result.Histogram{P50: late, P99: 2 * late}, "rpclab sent calls late"
			}
			return trial
		})
		if c := trial.Capacity; c.End != string(end) || c.Holds > 300 != (end == search.HighestHolds) {
			t.Errorf("half of the calls over 300/s were sent %g ms late: the search found %+v, want %q", late, *c, end)
		}
	}
}

// What happens during a probe that fails may be why it fails.
func TestASearchReportsWhatHappenedDuringEachProbe(t *testing.T) {
	shared := result.MachineWarning{Kind: result.MachineShared, Process: "rpclab run other"}
	frozen := result.MachineWarning{Kind: result.ProcessFrozen, Process: "greeter-1", DurationMS: 800}
	trial := searchOf(t, "errors < 1%", func(rate float64) (trial result.Trial) {
		trial.Calls, trial.ElapsedMS, trial.MachineWarnings = 100, 50, []result.MachineWarning{shared}
		trial.Machine = &result.Interference{Others: new(0.1)}
		if rate > 300 {
			trial.Machine = &result.Interference{Others: new(0.5)}
			trial.Dropped, trial.MachineWarnings, trial.Lost = 50, append(trial.MachineWarnings, frozen), []string{"greeter-1 exited"}
		}
		return trial
	})
	kinds := map[result.MachineWarningKind]int{}
	for _, w := range trial.MachineWarnings {
		kinds[w.Kind]++
	}
	if others := *trial.Machine.Others; others < 0.11 || others > 0.49 {
		t.Errorf("other programs used %g of the CPU time, want the mean of the probes, from 0.1 to 0.5", others)
	}
	if trial.Capacity.Holds == 0 || kinds[result.MachineShared] != 1 || kinds[result.ProcessFrozen] == 0 || len(trial.Lost) != 1 {
		t.Errorf("the warnings are %v and lost is %v, want the other run and the lost backend once, and that it was frozen", trial.MachineWarnings, trial.Lost)
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
