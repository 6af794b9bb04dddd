package meters

import (
	"fmt"
	"math"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gathered returns the metric that Prometheus would scrape: the one with the label, or the first if
// label is empty.
func gathered(t *testing.T, m *Meters, name, label, value string) *dto.Metric {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "rpclab_"+name {
			continue
		}
		for _, metric := range f.Metric {
			if label == "" {
				return metric
			}
			for _, l := range metric.Label {
				if l.GetName() == label && l.GetValue() == value {
					return metric
				}
			}
		}
	}
	return &dto.Metric{}
}

func TestALoadIsCountedEverySecondAndExactlyAtItsEnd(t *testing.T) {
	m := New()
	gathered(t, m, "run_info", "", "") // without a run there are no metrics, and no error
	one := experiment.Trial{Arm: "one", Round: 1}
	m.Begin(experiment.Plan{Name: "small", Trials: []experiment.Trial{one, {Arm: "two", Round: 1, Order: 1}}}, "id")
	if got := gathered(t, m, "calls_total", "arm", "two").GetCounter(); got == nil || got.GetValue() != 0 {
		t.Error("an arm that did not run has no series with the value 0, so rate() would miss its first calls")
	}
	latency := hdr.NewPacked(1, int64(measure.MaxDuration), 3)
	for range 90 {
		if err := latency.RecordValue(int64(3 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	m.Show(lab.Progress{Trial: one, Left: time.Minute, Live: &lab.Live{Arm: "one", Latency: latency, Backends: map[string]uint64{"a": 90}, Errors: map[string]uint64{"UNAVAILABLE": 10}}})
	m.Show(lab.Progress{Trial: one, Left: time.Minute, Event: &result.Event{What: "kill 1", Action: result.ActionKill}})
	if ok, bad := gathered(t, m, "calls_total", "code", "OK").GetCounter().GetValue(), gathered(t, m, "calls_total", "code", "UNAVAILABLE").GetCounter().GetValue(); ok != 90 || bad != 10 {
		t.Errorf("after a second %v calls are OK and %v failed, want 90 and 10", ok, bad)
	}
	if left := gathered(t, m, "run_remaining_seconds", "", "").GetGauge().GetValue(); left != 60 {
		t.Errorf("the run has %v s left, want 60", left)
	}
	for range 30 {
		if err := latency.RecordValue(int64(3 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	withLost, err := result.FromHDR(latency).CountLost(12, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	m.Show(lab.Progress{Trial: one, Ended: &result.Trial{Measures: result.Measures{
		Calls: 132, Errors: map[string]uint64{"UNAVAILABLE": 12}, Backends: map[string]uint64{"a": 120},
		Latency: withLost, AnsweredLatency: new(result.FromHDR(latency))}}})
	if ok, calls := gathered(t, m, "calls_total", "code", "OK").GetCounter().GetValue(), gathered(t, m, "backend_calls_total", "backend", "a").GetCounter().GetValue(); ok != 120 || calls != 120 {
		t.Errorf("at the end %v calls are OK and %v of the backend, want 120 each: every call counts once", ok, calls)
	}
	h := gathered(t, m, "call_latency_seconds", "arm", "one").GetHistogram()
	if h.GetSampleCount() != 120 || math.Abs(h.GetSampleSum()-0.36) > 0.001 || h.GetSchema() != schema {
		t.Errorf("the histogram is %v, want the 120 answered calls alone and a sum of 0.36 s", h)
	}
	// 3 ms lies in the native bucket up to 2^(-67/8) = 3.01 ms, and in the classic one up to 3.2 ms.
	if len(h.PositiveSpan) != 1 || h.PositiveSpan[0].GetOffset() != -67 || h.PositiveDelta[0] != 120 {
		t.Errorf("the native histogram has spans %v and deltas %v, want 120 calls in the bucket -67", h.PositiveSpan, h.PositiveDelta)
	}
	for _, b := range h.Bucket {
		if want := map[bool]uint64{true: 120}[b.GetUpperBound() > 0.003]; b.GetCumulativeCount() != want {
			t.Errorf("the bucket up to %v s has %d calls, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
	if n := gathered(t, m, "events_total", "what", "kill").GetCounter().GetValue(); n != 1 {
		t.Errorf("%v kill events, want 1", n)
	}
	m.End(result.Document{}, nil)
	if on := gathered(t, m, "run_info", "run", "id"); on.GetGauge() == nil || on.GetGauge().GetValue() != 0 {
		t.Errorf("after the end run_info is %v, want 0", on)
	}
}

// While arms take turns, the trial in progress is of all arms, but each call counts for its arm, once.
func TestCallsOfArmsInTurnsCountOnce(t *testing.T) {
	m := New()
	together := experiment.Trial{Arm: "all arms in turns", Round: 1}
	trials := []experiment.Trial{{Arm: "one", Round: 1}, {Arm: "two", Round: 1, Order: 1}}
	m.Begin(experiment.Plan{Name: "small", Trials: trials}, "id")
	m.Show(lab.Progress{Trial: together})
	for _, t := range trials {
		m.Show(lab.Progress{Trial: together, Live: &lab.Live{Arm: t.Arm, Errors: map[string]uint64{"UNAVAILABLE": 10}}})
	}
	failed := func() float64 { return gathered(t, m, "calls_total", "code", "UNAVAILABLE").GetCounter().GetValue() } // of the first arm
	if got := failed(); got != 10 {
		t.Errorf("during the round %v calls of an arm failed, want 10", got)
	}
	for _, of := range trials {
		m.Show(lab.Progress{Trial: of, Ended: &result.Trial{Measures: result.Measures{Calls: 20, Errors: map[string]uint64{"UNAVAILABLE": 20}}}})
	}
	if got := failed(); got != 20 {
		t.Errorf("after the round %v calls of an arm failed, want 20", got)
	}
	if got := gathered(t, m, "calls_total", "arm", together.Arm); got.GetCounter() != nil {
		t.Errorf("calls of %q are counted: %v", together.Arm, got)
	}
}

func TestNativeBucketsAreEncodedAsSpansAndDeltas(t *testing.T) {
	spans, deltas := spansOf(map[int]int64{-3: 2, -2: 5, 4: 1})
	if len(spans) != 2 || spans[0].GetOffset() != -3 || spans[0].GetLength() != 2 || spans[1].GetOffset() != 5 || spans[1].GetLength() != 1 {
		t.Errorf("the spans are %v, want 2 from -3 and 1 after a gap of 5", spans)
	}
	if len(deltas) != 3 || deltas[0] != 2 || deltas[1] != 3 || deltas[2] != -4 {
		t.Errorf("the deltas are %v, want 2, 3, -4", deltas)
	}
	if spans, _ := spansOf(nil); len(spans) != 1 {
		t.Errorf("an empty histogram has the spans %v, want one empty span, which marks it as native", spans)
	}
}

// Prometheus stores a series for each code. A server may end each call with another one.
func TestTheCodesOfFailedCallsAreBounded(t *testing.T) {
	m := New()
	trials := []experiment.Trial{{Arm: "one", Round: 1}, {Arm: "one", Round: 2}, {Arm: "one", Round: 3}}
	m.Begin(experiment.Plan{Name: "small", Trials: trials}, "id")
	for i, trial := range trials {
		codes := map[string]uint64{}
		for n := range failure.MaxCodes {
			codes[fmt.Sprintf("CODE_%d_%d", i, n)] = 1
		}
		m.Show(lab.Progress{Trial: trial, Live: &lab.Live{Arm: "one", Errors: codes}})
		if i < 2 { // the last is in progress
			m.Show(lab.Progress{Trial: trial, Ended: &result.Trial{Measures: result.Measures{Calls: failure.MaxCodes + 1, Errors: codes}}})
		}
	}
	series := make(chan prometheus.Metric, 1000)
	m.Collect(series)
	close(series)
	codes := map[string]float64{}
	for one := range series {
		var metric dto.Metric
		if err := one.Write(&metric); err != nil {
			t.Fatal(err)
		}
		for _, l := range metric.Label {
			if l.GetName() == "code" {
				codes[l.GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	if len(codes) != failure.MaxCodes+2 || codes["CODE_0_7"] != 1 || codes[failure.OtherCodes] != 2*failure.MaxCodes || codes[measure.OK] != 2 {
		t.Errorf("%d codes, %v calls of others and %v OK; want %d codes, OK and others, of %d and 2 calls",
			len(codes), codes[failure.OtherCodes], codes[measure.OK], failure.MaxCodes, 2*failure.MaxCodes)
	}
}
