package measure_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rpclab/internal/measure"
	"rpclab/internal/result/failure"
	"rpclab/internal/testkit"
)

func merged(t interface {
	Helper()
	Fatal(...any)
}, all ...measure.Measurement) measure.Measurement {
	t.Helper()
	measurement, err := measure.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	return measurement
}

// With the race detector a check takes 25 times as long, because it encodes many histograms. make test
// also runs it without.
func TestMergedMeasurementsEqualThoseOfOneCallerWithAllCalls(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	all := checks.String()
	defer func() { _ = checks.Set(all) }() // its own value is valid
	if n, err := strconv.Atoi(all); err != nil || checks.Set(strconv.Itoa(testkit.ReducedUnderRace(n))) != nil {
		t.Fatalf("-rapid.checks is %q, want a number", all)
	}
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
				call := good(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "backend"), due, due+ms, due+ms+took)
				if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
					call.Code, call.Message = "UNAVAILABLE", rapid.SampledFrom([]string{"gone", "refused"}).Draw(t, "message")
				}
				own.Record(call)
				whole.Record(call)
			}
			own.Drop(ms, "")
			whole.Drop(ms, "")
			measurement, err := own.Measurement()
			if err != nil {
				t.Fatal(err)
			}
			measurement.Started = began
			parts = append(parts, measurement)
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
	got := merged(t, of(500*ms), of(0))
	if !got.Started.Equal(began) || got.Elapsed != 530*ms || got.FirstResponse["a"] != 30*ms {
		t.Errorf("started %v, elapsed %v, first response at %v; want %v, 530ms, 30ms", got.Started, got.Elapsed, got.FirstResponse["a"], began)
	}
	if line := got.Timeline.Backends["a"]; !slices.Equal(line, []uint64{1, 0, 0, 0, 0, 1}) {
		t.Errorf("the timeline of a is %v, want [1 0 0 0 0 1]", line)
	}
	if got.CPU != 10*ms || got.MaxRSS != 2000 {
		t.Errorf("CPU time %v, memory %d; want the sums 10ms and 2000", got.CPU, got.MaxRSS)
	}
}

func TestAResolverUpdateCountsWhenEveryCallerReceivedIt(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 11, 21, 12, 0, second, 0, time.UTC) }
	one, two := []string{"1"}, []string{"1", "2"}
	m := merged(t,
		measure.Measurement{ResolverUpdates: []measure.ResolverUpdate{{At: at(0), Addrs: one}, {At: at(4), Addrs: two}}},
		measure.Measurement{ResolverUpdates: []measure.ResolverUpdate{{At: at(1), Addrs: one}, {At: at(9), Addrs: two}}})
	if diff := cmp.Diff([]measure.ResolverUpdate{{At: at(1), Addrs: one}, {At: at(9), Addrs: two}}, m.ResolverUpdates); diff != "" {
		t.Error(diff)
	}
}

// Each caller has as many codes as a recorder keeps.
func TestMergedCodesAreBounded(t *testing.T) {
	const callers, each = 3, failure.MaxCodes
	var parts []measure.Measurement
	for part := range callers {
		recorder := measure.NewRecorder(0)
		for n := range each {
			recorder.Record(measure.Call{Done: ms, Code: fmt.Sprint("CODE_", part*each+n), Message: "no", Name: "get"})
		}
		parts = append(parts, measured(t, recorder))
	}
	m := merged(t, parts...)
	for what, codes := range map[string]map[string]uint64{"all": m.Errors, "by name": m.ByName["get"].Errors} {
		if len(codes) != failure.MaxCodes+1 || codes["CODE_0"] != 1 || codes[failure.OtherCodes] != callers*each-failure.MaxCodes {
			t.Errorf("%s: %d codes, CODE_0 of %d calls, others of %d; want %d codes and others", what, len(codes), codes["CODE_0"], codes[failure.OtherCodes], failure.MaxCodes)
		}
	}
	for code, calls := range m.Errors {
		var ended uint64
		for _, n := range m.Timeline.Errors[code] {
			ended += n
		}
		if reasons := m.Reasons[code]; ended != calls || m.Samples[code] != "no" || len(reasons) != 1 || reasons[0].Calls != calls {
			t.Errorf("%s: %d calls, %d in the timeline, reasons %v", code, calls, ended, reasons)
		}
	}
}

// What a caller used is not known once its process has ended, and then the sum is not known either.
func TestUsageOfACallerThatHasEndedIsNotKnown(t *testing.T) {
	sum, err := measure.Merge([]measure.Measurement{{CPU: time.Second, MaxRSS: 1000}, {}})
	if err != nil || sum.CPU != 0 || sum.MaxRSS != 0 {
		t.Errorf("CPU time %v and memory %d (error %v), want both unknown", sum.CPU, sum.MaxRSS, err)
	}
}
