package load

import (
	"context"
	"testing"
	"time"
)

func TestTheWatchCountsFailuresWhenTheyHappen(t *testing.T) {
	for _, engine := range []string{Wire, GRPCGo} {
		s := settings()
		s.Engine, s.Target, s.Calls, s.Concurrency = engine, serve(t, &picky{names: map[string]int{}}), 20, 2
		s.Data = `[{"name": "7"}, {"name": "8"}]`
		l, err := Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		live := NewLive()
		if _, err := l.Run(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if m := live.Moment(); m.Answered != 10 || m.Failed != 10 || m.Open != 0 || m.P99 <= 0 || m.P99 < m.P50 {
			t.Errorf("%s: %+v", engine, m)
		}
	}
}

// TestTheWatchSaysWhatIsDoneBesideCallsThatCount: the generator's own measurement is
// no load that stands still.
func TestTheWatchSaysWhatIsDoneBesideCallsThatCount(t *testing.T) {
	s := settings()
	s.Target, s.Calls, s.Warmup = greeter(t), 20, 5
	l, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	live := NewLive()
	before, during := live.Moment().Doing, ""
	l.selfTest = func(context.Context, Probe) (*Ability, error) {
		during = live.Moment().Doing
		return new(Ability), nil
	}
	if _, err := l.Run(t.Context(), live); err != nil || before != "" || during != "measuring the generator itself" {
		t.Errorf("it said %q, then %q, %v", before, during, err)
	}
}

// TestTheSelfTestIsBriefWithLargeMessages too.
func TestTheSelfTestIsBriefWithLargeMessages(t *testing.T) {
	const size = 3 << 20
	start := time.Now()
	a, err := SelfTest(t.Context(), Probe{Engine: Wire, Request: size, Reply: size, Each: 20 * time.Millisecond})
	if took := time.Since(start); err != nil || a.Sent < size || a.Got < size || took > 30*time.Second {
		t.Errorf("%+v after %v, %v", a, took, err)
	}
}
