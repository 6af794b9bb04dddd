package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// A second without an answer has no latency, and not one of 0 ms.
func TestTheProgressOfALoadHasNoLatencyWithoutAnswers(t *testing.T) {
	for want, live := range map[string]lab.Live{
		"5000/s  p50 – ms  p99 – ms  late – ms  15000 failed, 7 open":  {Rate: 5000, Failed: 15_000, InFlight: 7},
		"500/s  p50 2 ms  p99 30.5 ms  late 0.12 ms  1 failed, 7 open": {Rate: 500, P50: 2 * time.Millisecond, P99: 30500 * time.Microsecond, Late: 120 * time.Microsecond, Failed: 1, InFlight: 7},
	} {
		if line := loadLine(lab.Progress{Live: &live}); !strings.HasSuffix(line, want) {
			t.Errorf("the line is %q, want one that ends with %q", line, want)
		}
	}
}

// The line of a trial showed a percentile of lost calls as a measured one, and no dropped calls.
func TestTheLineOfATrialShowsItsLostCalls(t *testing.T) {
	for want, measured := range map[string]result.Measures{
		": 386 calls, 0 failed, 9614 dropped, p50 >20,000 ms, p99 >20,000 ms": {Calls: 386, Dropped: 9614, Latency: result.Histogram{HDR: "not read", P50: 20_000, P99: 20_000, Lost: 0.9614}},
		": 100 calls, 2 failed, p50 1.23 ms, p99 >20,000 ms":                  {Calls: 100, Errors: map[string]uint64{"UNAVAILABLE": 2}, Latency: result.Histogram{HDR: "not read", P50: 1.234, P99: 20_000, Lost: 0.02}},
		": 100 calls, 0 failed, p50 1.23 ms, p99 312 ms":                      {Calls: 100, Latency: result.Histogram{HDR: "not read", P50: 1.234, P99: 312.4}},
		": 0 calls, 0 failed": {},
	} {
		if line := trialLine(lab.Progress{Planned: 1, Ended: &result.Trial{Measures: measured}}); !strings.HasSuffix(line, want) {
			t.Errorf("the line is %q, want one that ends with %q", line, want)
		}
	}
}

// The text of an error may be that of a server, such as a grpc-message.
func TestLinesAboutRunsHaveNoControlCharacters(t *testing.T) {
	const sent = "all calls failed: \x1b]0;owned\a"
	for _, line := range []string{
		trialLine(lab.Progress{Planned: 1, Ended: &result.Trial{Failed: sent}}),
		outcome(result.Document{}, errors.New(sent)),
	} {
		if strings.ContainsAny(line, "\x1b\a") || !strings.Contains(line, "all calls failed:  ]0;owned") {
			t.Errorf("the line is %q, want one without control characters", line)
		}
	}
}

// A p99 of seconds read 2.34e+03 ms.
func TestTheProgressShowsALongLatencyInDigits(t *testing.T) {
	if got, want := liveClause(lab.Live{Rate: 480, P99: 2343 * time.Millisecond}), "480/s, p99 2,343 ms"; got != want {
		t.Errorf("the clause is %q, want %q", got, want)
	}
}
