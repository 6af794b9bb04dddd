package load

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestProgressCountsFailuresWhenTheyHappen(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		s := validSettings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, serve(t, &strictGreeter{names: map[string]int{}}), 20, 2
		s.Data = `[{"name": "7"}, {"name": "8"}]`
		load, err := Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer load.Close()
		live := NewProgress()
		if _, err := load.Run(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if m := live.Snapshot(); m.Answered != 10 || m.Failed != 10 || m.InFlight != 0 || m.P99 <= 0 || m.P99 < m.P50 {
			t.Errorf("%s: the snapshot is %+v, want 10 answered, 10 failed, none in flight, and a p99 of at least p50", engine, m)
		}
	}
}

// The progress names the self-test, which would look like a stalled load.
func TestProgressNamesThePhase(t *testing.T) {
	s := validSettings()
	s.Target, s.Calls, s.Warmup = greeter(t), 20, 5
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	live := NewProgress()
	before, during := live.Snapshot().Phase, ""
	load.selfTest = func(context.Context, Probe) (*SelfTestResult, error) {
		during = live.Snapshot().Phase
		return new(SelfTestResult), nil
	}
	if _, err := load.Run(t.Context(), live); err != nil || before != "" || during != "measuring the generator itself" {
		t.Errorf("the phases are %q, then %q, %v; want none, then %q", before, during, err, "measuring the generator itself")
	}
}

func TestTheSelfTestIsBriefWithLargeMessages(t *testing.T) {
	const size = 3 << 20
	start := time.Now()
	a, err := SelfTest(t.Context(), Probe{Engine: Wire, Request: size, Reply: size, Duration: 20 * time.Millisecond, Self: []string{os.Args[0]}})
	if took := time.Since(start); err != nil || a.SentBytes < size || a.ReceivedBytes < size || took > 30*time.Second {
		t.Errorf("messages of %d bytes: the self-test is %+v, %v after %v; want their bytes within 30s", size, a, err, took)
	}
}
