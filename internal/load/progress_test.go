package load

import (
	"context"
	"testing"
	"time"
)

func TestProgressCountsFailuresWhenTheyHappen(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, serve(t, &strictGreeter{names: map[string]int{}}), 20, 2
		s.Data = `[{"name": "7"}, {"name": "8"}]`
		l, err := Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		live := NewProgress()
		if _, err := l.Run(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if m := live.Snapshot(); m.Answered != 10 || m.Failed != 10 || m.InFlight != 0 || m.P99 <= 0 || m.P99 < m.P50 {
			t.Errorf("%s: %+v", engine, m)
		}
	}
}

// TestProgressNamesThePhase: the generator's own measurement is
// no load that stands still.
func TestProgressNamesThePhase(t *testing.T) {
	s := settings()
	s.Target, s.Calls, s.Warmup = greeter(t), 20, 5
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	live := NewProgress()
	before, during := live.Snapshot().Phase, ""
	l.selfTest = func(context.Context, Probe) (*SelfTestResult, error) {
		during = live.Snapshot().Phase
		return new(SelfTestResult), nil
	}
	if _, err := l.Run(t.Context(), live); err != nil || before != "" || during != "measuring the generator itself" {
		t.Errorf("it said %q, then %q, %v", before, during, err)
	}
}

// TestTheSelfTestIsBriefWithLargeMessages too.
func TestTheSelfTestIsBriefWithLargeMessages(t *testing.T) {
	const size = 3 << 20
	start := time.Now()
	a, err := SelfTest(t.Context(), Probe{Engine: Wire, Request: size, Reply: size, Duration: 20 * time.Millisecond})
	if took := time.Since(start); err != nil || a.SentBytes < size || a.ReceivedBytes < size || took > 30*time.Second {
		t.Errorf("%+v after %v, %v", a, took, err)
	}
}
