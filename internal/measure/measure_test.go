package measure_test

import (
	"encoding/json"
	"maps"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rpclab/internal/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func good(backend string, due, sent, done time.Duration) measure.Call {
	return measure.Call{Due: due, Sent: sent, Done: done, Backend: backend, Code: measure.OK}
}

func measured(t *testing.T, r *measure.Recorder) measure.Measurement {
	t.Helper()
	m, err := r.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decode(t *testing.T, text string) *hdr.Histogram {
	t.Helper()
	h, err := hdr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLatencyRunsFromDueAndServiceFromSent(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 10*ms, 30*ms, 35*ms))
	m := measured(t, r)
	for what, pair := range map[string][2]int64{
		"latency":  {decode(t, m.Latency).Max(), int64(25 * ms)},
		"service":  {decode(t, m.Service).Max(), int64(5 * ms)},
		"lateness": {decode(t, m.Lateness).Max(), int64(20 * ms)},
	} {
		if got, want := pair[0], pair[1]; float64(got) < float64(want) || float64(got) > float64(want)*1.001 {
			t.Errorf("%s is %d ns, want %d", what, got, want)
		}
	}
}

func TestFailedCallsAreCountedByCodeAndKeepTheirFirstMessage(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 0, 0, ms))
	for _, message := range []string{"refused", "refused again"} {
		r.Record(measure.Call{Done: 2 * ms, Code: "UNAVAILABLE", Message: message})
	}
	m := measured(t, r)
	if m.Calls != 3 || m.Errors["UNAVAILABLE"] != 2 || m.Samples["UNAVAILABLE"] != "refused" {
		t.Errorf("got %d calls, errors %v, samples %v", m.Calls, m.Errors, m.Samples)
	}
	if n := decode(t, m.Latency).TotalCount(); n != 1 {
		t.Errorf("latency holds %d calls; only the answered one belongs there", n)
	}
	if n := decode(t, m.Lateness).TotalCount(); n != 3 {
		t.Errorf("lateness holds %d calls; all of them belong there", n)
	}
}

func TestTimelinesCountByWhenCallsEndAndByWhenTheyWereDue(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 0, 0, 99*ms))
	r.Record(good("a", 0, 0, 100*ms))
	r.Record(good("b", 140*ms, 150*ms, 250*ms))
	r.Record(measure.Call{Due: 130 * ms, Done: 310 * ms, Code: "UNAVAILABLE"})
	m := measured(t, r)
	want := measure.Timeline{
		Backends: map[string][]uint64{"a": {1, 1}, "b": {0, 0, 1}},
		Errors:   map[string][]uint64{"UNAVAILABLE": {0, 0, 0, 1}},
		Late:     []uint64{0, 0, 1},
		Due:      map[string][]uint64{"a": {2}, "b": {0, 1}},
		Lost:     []uint64{0, 1},
	}
	if diff := cmp.Diff(want, m.Timeline); diff != "" {
		t.Error(diff)
	}
	if m.FirstResponse["b"] != 250*ms || m.Elapsed != 310*ms {
		t.Errorf("b answered first at %v, the last call ended at %v", m.FirstResponse["b"], m.Elapsed)
	}
}

// TestAnAnswerIsLateByWhenItWasDue: not by when it was sent, and a failed call is not
// late, since it has no answer.
func TestAnAnswerIsLateByWhenItWasDue(t *testing.T) {
	for allowed, want := range map[time.Duration]uint64{0: 2, 50 * ms: 3, 150 * ms: 1, time.Hour: 0} {
		shards := measure.NewShards(2, allowed)
		for key, took := range []time.Duration{100 * ms, 101 * ms, 200 * ms} {
			shards.Record(uint64(key), good("a", ms, ms+took-time.Microsecond, ms+took))
		}
		shards.Record(0, measure.Call{Done: time.Hour, Code: "DEADLINE_EXCEEDED"})
		m := measured(t, shards.Merged())
		var over uint64
		for _, n := range m.Timeline.Late {
			over += n
		}
		if m.Late != want || over != want {
			t.Errorf("allowed %v: %d late, %d in the timeline, want %d", allowed, m.Late, over, want)
		}
	}
}

func TestOutOfRangeDurationsAreKeptAtTheBounds(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 5*ms, 3*ms, 4*ms)) // a clock that steps back
	r.Record(good("a", 0, 0, 3*time.Hour))
	h := decode(t, measured(t, r).Latency)
	if h.TotalCount() != 2 || h.Min() != 0 || h.Max() < int64(measure.MaxDuration) {
		t.Errorf("%d calls, min %d, max %d", h.TotalCount(), h.Min(), h.Max())
	}
}

func TestShardsLoseNothing(t *testing.T) {
	shards := measure.NewShards(4, 0)
	var done sync.WaitGroup
	for worker := range uint64(8) {
		done.Go(func() {
			for n := range 1000 {
				shards.Record(worker, good("b", 0, 0, time.Duration(n)*ms))
				shards.Drop(worker, time.Duration(n)*ms)
			}
		})
	}
	done.Wait()
	m := measured(t, shards.Merged())
	if m.Calls != 8000 || m.Dropped != 8000 || m.Backends["b"] != 8000 || m.Timeline.Backends["b"][9] != 800 || m.Timeline.Lost[9] != 800 {
		t.Errorf("got %d calls, %d dropped, %v, %v", m.Calls, m.Dropped, m.Backends, m.Timeline.Backends["b"])
	}
}

func TestAnswersOfStreamsAreCountedByThemselves(t *testing.T) {
	r, other := measure.NewRecorder(0), measure.NewRecorder(0)
	r.Record(good("a", 0, 0, 9*ms))
	if m := measured(t, r); m.Answers != "" {
		t.Errorf("without a stream there are answers: %s", m.Answers)
	}
	r.RecordResponse(3 * ms)
	other.RecordResponse(5 * ms)
	all := measure.NewRecorder(0)
	all.Merge(r)
	all.Merge(other)
	m := measured(t, all)
	if h := decode(t, m.Answers); m.Calls != 1 || h.TotalCount() != 2 || h.Max() < int64(5*ms) || h.Max() > int64(6*ms) {
		t.Errorf("%d calls, %d answers, max %d", m.Calls, h.TotalCount(), h.Max())
	}
}

func TestMeasurementCrossesProcesses(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 0, ms, 2*ms))
	want := measured(t, r)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got measure.Measurement
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 0, 0, time.Second))
	n := testing.AllocsPerRun(1000, func() { r.Record(good("a", 0, ms, 2*ms)) })
	if n != 0 {
		t.Errorf("a recorded call allocates %v times", n)
	}
}

func TestCPUAndMemoryOfThisProcess(t *testing.T) {
	before, err := measure.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := measure.ResetMaxRSS(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = byte(i)
	}
	peak, err := measure.MaxRSS(os.Getpid())
	if err != nil || peak < 64<<20 || peak > 2<<30 {
		t.Errorf("peak of %d bytes, %v; 64 MiB are held", peak, err)
	}
	runtime.KeepAlive(held)
	after, err := measure.CPU(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("CPU went from %v to %v, %v", before, after, err)
	}
}

func TestAProcessThatIsGoneIsAnError(t *testing.T) {
	const noSuchProcess = 1 << 22 // above the kernel's pid_max
	if _, err := measure.CPU(noSuchProcess); err == nil {
		t.Error("its CPU time was read")
	}
	if _, err := measure.MaxRSS(noSuchProcess); err == nil {
		t.Error("its memory was read")
	}
}

func BenchmarkRecord(b *testing.B) {
	r := measure.NewRecorder(0)
	b.ReportAllocs()
	for b.Loop() {
		r.Record(good("a", 0, ms, 2*ms))
	}
}

func TestACallThatStandsForSeveralCountsForEachWhoAnswered(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(measure.Call{Done: 150 * ms, Code: measure.OK, Backends: map[string]uint64{"a": 7, "b": 3}})
	r.Record(measure.Call{Done: 150 * ms, Code: measure.OK, Backends: map[string]uint64{"b": 4}})
	m := measured(t, r)
	if want := map[string]uint64{"a": 7, "b": 7}; m.Calls != 2 || !maps.Equal(m.Backends, want) {
		t.Errorf("%d calls, answered by %v; want 2, by %v", m.Calls, m.Backends, want)
	}
	if line := m.Timeline.Backends["b"]; len(line) != 2 || line[1] != 7 {
		t.Errorf("the timeline of b is %v", line)
	}
}
