package meters

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gathered is what Prometheus would read: by name and the label given, else the first.
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

func TestALoadIsCountedAsItGoesOnAndExactlyWhenItEnds(t *testing.T) {
	m := New()
	gathered(t, m, "run_info", "", "") // of no run there is nothing, and that is no error
	one := experiment.Trial{Arm: "one", Round: 1}
	m.Begin(experiment.Plan{Name: "small", Trials: []experiment.Trial{one, {Arm: "two", Round: 1, Order: 1}}}, "id")
	if got := gathered(t, m, "calls_total", "arm", "two").GetCounter(); got == nil || got.GetValue() != 0 {
		t.Error("an arm that did not run has no series: rate() would miss its first calls")
	}
	latency := measure.Histogram()
	for range 90 {
		if err := latency.RecordValue(int64(3 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	m.Show(lab.Progress{Trial: one, Left: time.Minute, Live: &lab.Live{Latency: latency, Backends: map[string]uint64{"a": 90}, Errors: map[string]uint64{"UNAVAILABLE": 10}}})
	m.Show(lab.Progress{Trial: one, Left: time.Minute, Event: &result.Event{What: "kill 1", Action: result.ActionKill}})
	if ok, bad := gathered(t, m, "calls_total", "code", "OK").GetCounter().GetValue(), gathered(t, m, "calls_total", "code", "UNAVAILABLE").GetCounter().GetValue(); ok != 90 || bad != 10 {
		t.Errorf("%v OK, %v failed after a second", ok, bad)
	}
	if left := gathered(t, m, "run_remaining_seconds", "", "").GetGauge().GetValue(); left != 60 {
		t.Errorf("%v s remain", left)
	}
	for range 30 {
		if err := latency.RecordValue(int64(3 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	m.Show(lab.Progress{Trial: one, Ended: &result.Trial{Measures: result.Measures{
		Calls: 132, Errors: map[string]uint64{"UNAVAILABLE": 12}, Backends: map[string]uint64{"a": 120}, Latency: result.FromHDR(latency)}}})
	if ok, calls := gathered(t, m, "calls_total", "code", "OK").GetCounter().GetValue(), gathered(t, m, "backend_calls_total", "backend", "a").GetCounter().GetValue(); ok != 120 || calls != 120 {
		t.Errorf("%v OK, %v of the backend at the end; what was seen each second counts once", ok, calls)
	}
	h := gathered(t, m, "call_latency_seconds", "arm", "one").GetHistogram()
	if h.GetSampleCount() != 120 || math.Abs(h.GetSampleSum()-0.36) > 0.001 || h.GetSchema() != schema {
		t.Errorf("the histogram is %v", h)
	}
	// 3 ms lies in the native bucket up to 2^(-67/8) = 3.01 ms, and in the classic one up to 3.2 ms.
	if len(h.PositiveSpan) != 1 || h.PositiveSpan[0].GetOffset() != -67 || h.PositiveDelta[0] != 120 {
		t.Errorf("native: %v %v", h.PositiveSpan, h.PositiveDelta)
	}
	for _, b := range h.Bucket {
		if want := map[bool]uint64{true: 120}[b.GetUpperBound() > 0.003]; b.GetCumulativeCount() != want {
			t.Errorf("within %v s: %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
	if n := gathered(t, m, "events_total", "what", "kill").GetCounter().GetValue(); n != 1 {
		t.Errorf("%v kills", n)
	}
	m.End(result.Document{}, nil)
	if on := gathered(t, m, "run_info", "run", "id"); on.GetGauge() == nil || on.GetGauge().GetValue() != 0 {
		t.Errorf("after the end: %v", on)
	}
}

func TestNativeBucketsAreWrittenAsRuns(t *testing.T) {
	spans, deltas := spansOf(map[int]int64{-3: 2, -2: 5, 4: 1})
	if len(spans) != 2 || spans[0].GetOffset() != -3 || spans[0].GetLength() != 2 || spans[1].GetOffset() != 5 || spans[1].GetLength() != 1 {
		t.Errorf("runs %v", spans)
	}
	if len(deltas) != 3 || deltas[0] != 2 || deltas[1] != 3 || deltas[2] != -4 {
		t.Errorf("differences %v", deltas)
	}
	if spans, _ := spansOf(nil); len(spans) != 1 {
		t.Errorf("an empty one is not native: %v", spans)
	}
}
