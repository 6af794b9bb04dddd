package measure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rpclab/internal/measure"
	"rpclab/internal/result/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func good(backend string, due, sent, done time.Duration) measure.Call {
	return measure.Call{Due: due, Sent: sent, Done: done, Backend: backend, Code: measure.OK}
}

func measured(t *testing.T, r *measure.Recorder) measure.Measurement {
	t.Helper()
	measurement, err := r.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return measurement
}

func decode(t *testing.T, text string) *hdr.Histogram {
	t.Helper()
	histogram, err := hdr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return histogram
}

func TestLatencyRunsFromDueAndServiceFromSent(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 10*ms, 30*ms, 35*ms))
	measurement := measured(t, r)
	for what, pair := range map[string][2]int64{
		"latency":  {decode(t, measurement.Latency).Max(), int64(25 * ms)},
		"service":  {decode(t, measurement.Service).Max(), int64(5 * ms)},
		"lateness": {decode(t, measurement.Lateness).Max(), int64(20 * ms)},
	} {
		if got, want := pair[0], pair[1]; float64(got) < float64(want) || float64(got) > float64(want)*1.001 {
			t.Errorf("%s is %d ns, want %d ns", what, got, want)
		}
	}
}

func TestFailedCallsAreCountedByCodeAndKeepTheirFirstMessage(t *testing.T) {
	recorder := measure.NewRecorder(0)
	recorder.Record(good("a", 0, 0, ms))
	for _, message := range []string{"refused", "refused again"} {
		recorder.Record(measure.Call{Done: 2 * ms, Code: "UNAVAILABLE", Message: message})
	}
	measurement := measured(t, recorder)
	if measurement.Calls != 3 || measurement.Errors["UNAVAILABLE"] != 2 || measurement.Samples["UNAVAILABLE"] != "refused" {
		t.Errorf("got %d calls, errors %v, samples %v; want 3 calls, 2 of them UNAVAILABLE with the sample refused",
			measurement.Calls, measurement.Errors, measurement.Samples)
	}
	want := []failure.Reason{{Message: "refused", Calls: 1}, {Message: "refused again", Calls: 1}}
	if got := measurement.Reasons["UNAVAILABLE"]; !slices.Equal(got, want) {
		t.Errorf("the reasons are %v, want %v", got, want)
	}
	if n := decode(t, measurement.Latency).TotalCount(); n != 1 {
		t.Errorf("latency has %d calls, want only the 1 answered call", n)
	}
	if n := decode(t, measurement.Lateness).TotalCount(); n != 3 {
		t.Errorf("lateness has %d calls, want all 3", n)
	}
}

func TestTimelinesCountCallsByEndAndByDueTime(t *testing.T) {
	recorder := measure.NewRecorder(0)
	recorder.Record(good("a", 0, 0, 99*ms))
	recorder.Record(good("a", 0, 0, 100*ms))
	recorder.Record(good("b", 140*ms, 150*ms, 250*ms))
	recorder.Record(measure.Call{Due: 130 * ms, Done: 310 * ms, Code: "UNAVAILABLE"})
	measurement := measured(t, recorder)
	want := measure.Timeline{
		Backends: map[string][]uint64{"a": {1, 1}, "b": {0, 0, 1}},
		Errors:   map[string][]uint64{"UNAVAILABLE": {0, 0, 0, 1}},
		Late:     []uint64{0, 0, 1},
		Due:      map[string][]uint64{"a": {2}, "b": {0, 1}},
		Lost:     []uint64{0, 1},
	}
	if diff := cmp.Diff(want, measurement.Timeline); diff != "" {
		t.Error(diff)
	}
	if measurement.FirstResponse["b"] != 250*ms || measurement.Elapsed != 310*ms {
		t.Errorf("b answered first at %v and the last call ended at %v, want 250ms and 310ms", measurement.FirstResponse["b"], measurement.Elapsed)
	}
}

// Lateness counts from the due time, not from sending. A failed call has no response, so it is not late.
func TestAnAnswerIsLateWhenItFollowsTheDueTimeByMoreThanAllowed(t *testing.T) {
	for allowed, want := range map[time.Duration]uint64{0: 2, 50 * ms: 3, 150 * ms: 1, time.Hour: 0} {
		shards := measure.NewShards(2, allowed)
		for key, took := range []time.Duration{100 * ms, 101 * ms, 200 * ms} {
			shards.Record(uint64(key), good("a", ms, ms+took-time.Microsecond, ms+took))
		}
		shards.Record(0, measure.Call{Done: time.Hour, Code: "DEADLINE_EXCEEDED"})
		measurement := measured(t, shards.Merged())
		var over uint64
		for _, n := range measurement.Timeline.Late {
			over += n
		}
		if measurement.Late != want || over != want {
			t.Errorf("%v allowed: %d late answers, %d in the timeline; want %d in both", allowed, measurement.Late, over, want)
		}
	}
}

// TestBackendsAreBounded: a server can name itself differently in each response.
func TestBackendsAreBounded(t *testing.T) {
	all := measure.NewRecorder(0)
	for part := range 2 {
		recorder := measure.NewRecorder(0)
		for n := range 1500 {
			recorder.Record(good(fmt.Sprint(part, "-", n), 0, 0, ms))
		}
		all.Merge(recorder)
	}
	measurement := measured(t, all)
	calls := uint64(0)
	for _, n := range measurement.Backends {
		calls += n
	}
	if names := len(measurement.Backends); names > measure.MaxBackends+1 || calls != 3000 || measurement.Backends[measure.OtherBackends] < 3000-measure.MaxBackends {
		t.Errorf("%d names of %d calls, and %d calls of others; want %d names at most, and others for the rest of 3000 calls", names, calls, measurement.Backends[measure.OtherBackends], measure.MaxBackends)
	}
}

// TestTextsOfServersAreShortened: a header list may have 16 MiB, and each code has five reasons.
func TestTextsOfServersAreShortened(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	all := measure.NewRecorder(0)
	for part := range 3 {
		recorder := measure.NewRecorder(0)
		recorder.Record(good(long, 0, 0, ms))
		recorder.Record(measure.Call{Done: ms, Code: "INTERNAL", Message: string(rune('a'+part)) + long})
		all.Merge(recorder)
	}
	measurement := measured(t, all)
	texts := []string{measurement.Samples["INTERNAL"]}
	for _, reason := range measurement.Reasons["INTERNAL"] {
		texts = append(texts, reason.Message)
	}
	texts = slices.AppendSeq(texts, maps.Keys(measurement.Backends))
	if len(texts) != 5 {
		t.Errorf("there are %d texts, want a sample, three reasons and a backend", len(texts))
	}
	for _, text := range texts {
		if len(text) > 4<<10+len("…") || !utf8.ValidString(text) || !strings.HasSuffix(text, "ü…") {
			t.Errorf("a text of %d bytes ends with %q", len(text), text[len(text)-5:])
		}
	}
}

// Labels of Prometheus and texts in JSON must be UTF-8, which a server need not send.
func TestNamesOfBackendsAreUTF8(t *testing.T) {
	r := measure.NewRecorder(0)
	for _, id := range []string{"Z\xfcrich", "Z\xe4rich", "Z\ufffdrich"} {
		r.Record(good(id, 0, 0, ms))
	}
	if got, want := measured(t, r).Backends, map[string]uint64{"Z\ufffdrich": 3}; !maps.Equal(got, want) {
		t.Errorf("the backends are %v, want %v", got, want)
	}
}

func TestOutOfRangeDurationsAreKeptAtTheBounds(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(good("a", 5*ms, 3*ms, 4*ms)) // a clock that steps back
	r.Record(good("a", 0, 0, 3*time.Hour))
	h := decode(t, measured(t, r).Latency)
	if h.TotalCount() != 2 || h.Min() != 0 || h.Max() < int64(measure.MaxDuration) {
		t.Errorf("%d calls, min %d ns, max %d ns; want 2 calls, 0 and at least %d ns", h.TotalCount(), h.Min(), h.Max(), int64(measure.MaxDuration))
	}
}

func TestConcurrentGoroutinesLoseNoCalls(t *testing.T) {
	shards := measure.NewShards(4, 0)
	var done sync.WaitGroup
	for worker := range uint64(8) {
		done.Go(func() {
			for n := range 1000 {
				shards.Record(worker, good("b", 0, 0, time.Duration(n)*ms))
				shards.Drop(worker, time.Duration(n)*ms, "")
			}
		})
	}
	done.Wait()
	m := measured(t, shards.Merged())
	if m.Calls != 8000 || m.Dropped != 8000 || m.Backends["b"] != 8000 || m.Timeline.Backends["b"][9] != 800 || m.Timeline.Lost[9] != 800 {
		t.Errorf("got %d calls, %d dropped, backends %v, timeline of b %v; want 8000 calls and 8000 dropped, 800 in each interval", m.Calls, m.Dropped, m.Backends, m.Timeline.Backends["b"])
	}
}

func TestResponsesOnStreamsAreCountedApartFromCalls(t *testing.T) {
	first, other := measure.NewRecorder(0), measure.NewRecorder(0)
	first.Record(good("a", 0, 0, 9*ms))
	if m := measured(t, first); m.Answers != "" {
		t.Errorf("a measurement without a stream has the responses %s, want none", m.Answers)
	}
	first.RecordResponse(3 * ms)
	other.RecordResponse(5 * ms)
	all := measure.NewRecorder(0)
	all.Merge(first)
	all.Merge(other)
	m := measured(t, all)
	if h := decode(t, m.Answers); m.Calls != 1 || h.TotalCount() != 2 || h.Max() < int64(5*ms) || h.Max() > int64(6*ms) {
		t.Errorf("%d calls, %d responses, max %d ns; want 1 call, 2 responses, max 5 ms", m.Calls, h.TotalCount(), h.Max())
	}
}

func TestAMeasurementInJSONIsUnchanged(t *testing.T) {
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
		t.Errorf("recording a call allocates %v times, want 0", n)
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
		t.Errorf("the peak is %d bytes, %v; want 64 MiB to 2 GiB while 64 MiB are in use", peak, err)
	}
	runtime.KeepAlive(held)
	after, err := measure.CPU(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("CPU time went from %v to %v, %v; want it to grow", before, after, err)
	}
}

func TestAProcessThatDoesNotExistIsAnError(t *testing.T) {
	const noSuchProcess = 1 << 22 // above the kernel's pid_max
	if _, err := measure.CPU(noSuchProcess); err == nil {
		t.Error("CPU of a process that does not exist returned no error")
	}
	if _, err := measure.MaxRSS(noSuchProcess); err == nil {
		t.Error("MaxRSS of a process that does not exist returned no error")
	}
}

func BenchmarkRecord(b *testing.B) {
	r := measure.NewRecorder(0)
	b.ReportAllocs()
	for b.Loop() {
		r.Record(good("a", 0, ms, 2*ms))
	}
}

func TestARequestCountsForEveryBackendThatAnsweredIt(t *testing.T) {
	r := measure.NewRecorder(0)
	r.Record(measure.Call{Done: 150 * ms, Code: measure.OK, Backends: map[string]uint64{"a": 7, "b": 3}})
	r.Record(measure.Call{Done: 150 * ms, Code: measure.OK, Backends: map[string]uint64{"b": 4}})
	measurement := measured(t, r)
	if want := map[string]uint64{"a": 7, "b": 7}; measurement.Calls != 2 || !maps.Equal(measurement.Backends, want) {
		t.Errorf("%d calls, answered by %v; want 2 calls, answered by %v", measurement.Calls, measurement.Backends, want)
	}
	if line := measurement.Timeline.Backends["b"]; len(line) != 2 || line[1] != 7 {
		t.Errorf("the timeline of b is %v, want [0 7]", line)
	}
}

// A server can end each call with another code.
func TestCodesAreBounded(t *testing.T) {
	all := measure.NewRecorder(0)
	for part := range 2 {
		recorder := measure.NewRecorder(0)
		for n := range 150 {
			recorder.Record(measure.Call{Done: ms, Code: fmt.Sprint("CODE_", part*150+n), Name: "get"})
		}
		all.Merge(recorder)
	}
	measurement := measured(t, all)
	for what, codes := range map[string]map[string]uint64{"all": measurement.Errors, "by name": measurement.ByName["get"].Errors} {
		calls := uint64(0)
		for _, n := range codes {
			calls += n
		}
		if len(codes) > failure.MaxCodes+1 || calls != 300 || codes[failure.OtherCodes] < 300-failure.MaxCodes {
			t.Errorf("%s: %d codes of %d calls, %d of them others; want %d codes at most", what, len(codes), calls, codes[failure.OtherCodes], failure.MaxCodes)
		}
	}
}
