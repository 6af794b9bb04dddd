package measure_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rpclab/internal/measure"
)

func merged(t interface {
	Helper()
	Fatal(...any)
}, all ...measure.Measurement) measure.Measurement {
	t.Helper()
	m, err := measure.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What callers measured apart is what one would have measured that made all their calls.
func TestMergingIsAsIfOneCallerHadMadeAllCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		n := rapid.IntRange(2, 5).Draw(t, "callers")
		whole := measure.NewRecorder(0)
		var parts []measure.Measurement
		for range n {
			own := measure.NewRecorder(0)
			for range rapid.IntRange(0, 50).Draw(t, "calls") {
				due := time.Duration(rapid.IntRange(0, 2000).Draw(t, "due")) * ms
				took := time.Duration(rapid.IntRange(0, 300).Draw(t, "took")) * ms
				c := good(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "backend"), due, due+ms, due+ms+took)
				if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
					c.Code, c.Message = "UNAVAILABLE", "gone"
				}
				own.Record(c)
				whole.Record(c)
			}
			own.Drop(ms)
			whole.Drop(ms)
			m, err := own.Measurement()
			if err != nil {
				t.Fatal(err)
			}
			m.Started = began
			parts = append(parts, m)
		}
		want, err := whole.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		want.Started, want.FirstLateness = began, 0
		if diff := cmp.Diff(want, merged(t, parts...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTimesCountFromTheEarliestStart(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	of := func(after time.Duration) measure.Measurement {
		r := measure.NewRecorder(0)
		r.Record(good("a", 0, 0, 30*ms))
		m := measured(t, r)
		m.Started, m.CPU, m.MaxRSS = began.Add(after), 5*ms, 1000
		return m
	}
	m := merged(t, of(500*ms), of(0))
	if !m.Started.Equal(began) || m.Elapsed != 530*ms || m.FirstResponse["a"] != 30*ms {
		t.Errorf("began %v, took %v, first answer after %v", m.Started, m.Elapsed, m.FirstResponse["a"])
	}
	if line := m.Timeline.Backends["a"]; !slices.Equal(line, []uint64{1, 0, 0, 0, 0, 1}) {
		t.Errorf("answered by interval: %v", line)
	}
	if m.CPU != 10*ms || m.MaxRSS != 2000 {
		t.Errorf("CPU time %v, memory %d; both are sums", m.CPU, m.MaxRSS)
	}
}

func TestASetCountsAsToldWhenEveryCallerKnowsIt(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 21, 12, 0, s, 0, time.UTC) }
	one, two := []string{"1"}, []string{"1", "2"}
	m := merged(t,
		measure.Measurement{ResolverUpdates: []measure.ResolverUpdate{{At: at(0), Addrs: one}, {At: at(4), Addrs: two}}},
		measure.Measurement{ResolverUpdates: []measure.ResolverUpdate{{At: at(1), Addrs: one}, {At: at(9), Addrs: two}}})
	if diff := cmp.Diff([]measure.ResolverUpdate{{At: at(1), Addrs: one}, {At: at(9), Addrs: two}}, m.ResolverUpdates); diff != "" {
		t.Error(diff)
	}
}
