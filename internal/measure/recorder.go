package measure

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result/failure"
)

// Recorder records calls. Only one goroutine may use it; see [Shards] for several.
type Recorder struct {
	latency, service, lateness *hdr.Histogram // of answered calls
	failedLateness             *hdr.Histogram // nil: no call failed
	answers                    *hdr.Histogram // nil: no call was a stream
	series                     LatencySeries
	byName                     namedCalls // nil: calls have no names
	calls, dropped, late       uint64
	waited, resent             uint64
	lateAfter                  time.Duration        // the latency above which a call is late
	failures                   map[string]*failures // by code
	backends                   map[string]*backend
	lateCalls                  []uint64      // by interval of their end
	lost                       []uint64      // failed and dropped calls, by interval in which they were due
	firstDue, firstLateness    time.Duration // of the call that was due first
	last                       time.Duration
	window                     time.Duration // in which calls are due; 0: not known
	inWindow, answeredInWindow uint64
	cpu                        time.Duration
	connecting                 *time.Duration // nil: not known
}

type backend struct {
	calls    uint64
	first    time.Duration
	timeline []uint64
	due      []uint64 // as timeline, by when the calls were due
}

type failures struct {
	calls    uint64
	sample   string // the first message
	reasons  []failure.Reason
	timeline []uint64
}

// NewRecorder returns an empty recorder. A call that is answered more than lateAfter after it was due
// counts as late; 0: [DefaultLateAfter].
func NewRecorder(lateAfter time.Duration) *Recorder {
	return &Recorder{
		lateAfter: cmp.Or(lateAfter, DefaultLateAfter),
		latency:   Histogram(), service: Histogram(), lateness: Histogram(),
		failures: map[string]*failures{}, backends: map[string]*backend{},
	}
}

// CountWindow counts the calls that end within a time from the start, in which calls are due. 0: no
// calls are counted, because the window is not known.
func (r *Recorder) CountWindow(window time.Duration) { r.window = window }

// Record records a call that has ended.
func (r *Recorder) Record(call Call) {
	r.keepFirst(call.Due, call.Sent-call.Due)
	if call.Name != "" {
		r.byName.get(call.Name).record(call.Done-call.Due, call.Code, call.Code == OK)
	}
	if call.Steps != nil {
		r.recordSteps(call.Due, call.Steps)
	}
	r.calls++
	r.last = max(r.last, call.Done)
	if call.Waited {
		r.waited++
	}
	r.resent += uint64(call.Resent)
	if call.Done <= r.window {
		r.inWindow++
		if call.Code == OK {
			r.answeredInWindow++
		}
	}
	if call.Code != OK {
		addTo(&r.failedLateness, call.Sent-call.Due)
		call.Message = shortened(call.Message)
		failed := r.failure(call.Code, call.Message)
		failed.calls++
		failed.reasons = failure.Add(failed.reasons, call.Message, 1)
		count(&failed.timeline, call.Done, 1)
		count(&r.lost, call.Due, 1)
		return
	}
	add(r.lateness, call.Sent-call.Due)
	add(r.latency, call.Done-call.Due)
	r.series.add(call.Due, call.Done-call.Due)
	add(r.service, call.Done-call.Sent)
	if call.Done-call.Due > r.lateAfter {
		r.late++
		count(&r.lateCalls, call.Done, 1)
	}
	if call.Backends == nil {
		r.answered(call, call.Backend, 1)
	}
	for id, n := range call.Backends {
		r.answered(call, id, n)
	}
}

// recordSteps records the calls of a flow that was due at a time.
func (r *Recorder) recordSteps(due time.Duration, steps []Step) {
	for _, step := range steps {
		r.byName.get(step.Name).record(step.Done-due, step.Code, step.Code == OK)
		due = step.Done
	}
}

// keepFirst keeps the lateness of the call that was due first. Of several calls that were due at the same
// time it keeps the lateness of the call that was sent first.
func (r *Recorder) keepFirst(due, lateness time.Duration) {
	if r.calls == 0 || due < r.firstDue || due == r.firstDue && lateness < r.firstLateness {
		r.firstDue, r.firstLateness = due, lateness
	}
}

// answered records n responses of a backend to a call.
func (r *Recorder) answered(call Call, id string, n uint64) {
	responder := r.backend(id)
	if responder.calls == 0 {
		responder.first = call.Done
	}
	responder.calls += n
	responder.first = min(responder.first, call.Done)
	count(&responder.timeline, call.Done, n)
	count(&responder.due, call.Due, n)
}

// Servers name themselves, and each name has timelines. Responses with further names count as those of
// OtherBackends.
const (
	MaxBackends   = 1000
	OtherBackends = "others"
)

// maxText is how much of a text of a server is kept, in bytes.
const maxText = 4 << 10

func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxText]), "") + "…"
}

// backend returns what is recorded of a backend.
func (r *Recorder) backend(id string) *backend {
	id = shortened(id)
	known := r.backends[id]
	if known == nil { // it may be a name that is not UTF-8, which is in no map
		id = strings.ToValidUTF8(id, "\ufffd")
		known = r.backends[id]
	}
	if known == nil && len(r.backends) >= MaxBackends {
		id = OtherBackends
		known = r.backends[id]
	}
	if known == nil {
		known = &backend{}
		r.backends[id] = known
	}
	return known
}

// failure returns what is recorded of a code, of which sample is a message.
func (r *Recorder) failure(code, sample string) *failures {
	code = failure.BoundedCode(r.failures, code)
	known := r.failures[code]
	if known == nil {
		known = &failures{sample: sample}
		r.failures[code] = known
	}
	return known
}

// RecordResponse records a response on a stream and the time since its request was sent.
func (r *Recorder) RecordResponse(took time.Duration) {
	addTo(&r.answers, took)
}

// Drop records a call that was due but not sent, because too many calls were in flight. name is that of a
// [Call], or of the first call of a flow.
func (r *Recorder) Drop(due time.Duration, name string) {
	if name != "" {
		r.byName.get(name).dropped++
	}
	r.dropped++
	count(&r.lost, due, 1)
}

// AddCPU adds the CPU time that the calls cost. It includes recording them, but not merging the
// recorders.
func (r *Recorder) AddCPU(cpu time.Duration) { r.cpu += cpu }

// SetConnecting sets how long the connections that the caller opened during the load took to set up, added up.
func (r *Recorder) SetConnecting(took time.Duration) { r.connecting = &took }

// Merge adds what other has recorded.
func (r *Recorder) Merge(other *Recorder) {
	Pack(other.latency).MergeInto(r.latency)
	Pack(other.service).MergeInto(r.service)
	Pack(other.lateness).MergeInto(r.lateness)
	r.series.merge(other.series, 0)
	mergeInto(&r.failedLateness, other.failedLateness)
	mergeInto(&r.answers, other.answers)
	for name, theirs := range other.byName {
		r.byName.get(name).merge(theirs)
	}
	if other.calls > 0 {
		r.keepFirst(other.firstDue, other.firstLateness)
	}
	r.calls += other.calls
	r.dropped += other.dropped
	r.late += other.late
	r.waited += other.waited
	r.resent += other.resent
	r.window = max(r.window, other.window)
	r.inWindow += other.inWindow
	r.answeredInWindow += other.answeredInWindow
	r.last = max(r.last, other.last)
	r.cpu += other.cpu
	for code, theirs := range other.failures {
		ours := r.failure(code, theirs.sample)
		ours.calls += theirs.calls
		ours.reasons = failure.Merge(ours.reasons, theirs.reasons)
		sum(&ours.timeline, theirs.timeline)
	}
	sum(&r.lateCalls, other.lateCalls)
	sum(&r.lost, other.lost)
	for id, theirs := range other.backends {
		ours := r.backend(id)
		if ours.calls == 0 {
			ours.first = theirs.first
		}
		ours.calls += theirs.calls
		ours.first = min(ours.first, theirs.first)
		sum(&ours.timeline, theirs.timeline)
		sum(&ours.due, theirs.due)
	}
}

// Measurement returns what was recorded. It leaves Started, MaxRSS, ResolverUpdates, Throttled and Stolen
// for its caller to set.
func (r *Recorder) Measurement() (Measurement, error) {
	measurement := Measurement{
		FirstLateness: r.firstLateness, Elapsed: r.last, Calls: r.calls, Dropped: r.dropped, Late: r.late, Waited: r.waited, Resent: r.resent, CPU: r.cpu, Connecting: r.connecting, Series: r.series,
		Window: r.window, InWindow: r.inWindow, AnsweredInWindow: r.answeredInWindow,
		Errors: map[string]uint64{}, Samples: map[string]string{},
		Backends: map[string]uint64{}, FirstResponse: map[string]time.Duration{},
		Timeline: Timeline{Backends: map[string][]uint64{}, Errors: map[string][]uint64{}, Late: r.lateCalls, Due: map[string][]uint64{}, Lost: r.lost},
	}
	for code, f := range r.failures {
		measurement.Errors[code], measurement.Samples[code], measurement.Timeline.Errors[code] = f.calls, f.sample, f.timeline
		failure.AddAll(&measurement.Reasons, code, f.reasons)
	}
	for id, b := range r.backends {
		measurement.Backends[id], measurement.FirstResponse[id] = b.calls, b.first
		measurement.Timeline.Backends[id], measurement.Timeline.Due[id] = b.timeline, b.due
	}
	var errs [6]error
	measurement.Latency, errs[0] = encode(Pack(r.latency))
	measurement.Service, errs[1] = encode(Pack(r.service))
	measurement.AnsweredLateness, errs[2] = encode(Pack(r.lateness))
	measurement.Lateness = measurement.AnsweredLateness
	if r.failedLateness != nil {
		measurement.Lateness, errs[3] = encode(Pack(r.lateness, r.failedLateness))
	}
	if r.answers != nil {
		measurement.Answers, errs[4] = encode(Pack(r.answers))
	}
	measurement.ByName, errs[5] = r.byName.measured()
	return measurement, errors.Join(errs[:]...)
}

// addTo adds a duration to a histogram, which it creates if there is none yet.
func addTo(h **hdr.Histogram, d time.Duration) {
	if *h == nil {
		*h = Histogram()
	}
	add(*h, d)
}

// mergeInto adds the values of a histogram to another, which it creates if there is none yet.
func mergeInto(h **hdr.Histogram, other *hdr.Histogram) {
	if other == nil {
		return
	}
	if *h == nil {
		*h = Histogram()
	}
	Pack(other).MergeInto(*h)
}

// count adds n calls to the interval of a time.
func count(timeline *[]uint64, at time.Duration, n uint64) {
	i := int(at / TimelineInterval)
	for len(*timeline) <= i {
		*timeline = append(*timeline, 0)
	}
	(*timeline)[i] += n
}

// Shards are recorders for goroutines that record at the same time. Each goroutine chooses a shard by a
// key of its own, so that two goroutines seldom wait for the same lock.
type Shards struct {
	shards []shard
}

type shard struct {
	sync.Mutex
	*Recorder
	_ [64]byte // keeps two shards off one cache line
}

// NewShards returns n recorders; see [NewRecorder].
func NewShards(n int, lateAfter time.Duration) *Shards {
	shards := &Shards{shards: make([]shard, n)}
	for i := range shards.shards {
		shards.shards[i].Recorder = NewRecorder(lateAfter)
	}
	return shards
}

// CountWindow is that of each [Recorder].
func (s *Shards) CountWindow(window time.Duration) {
	for i := range s.shards {
		s.shards[i].Recorder.CountWindow(window)
	}
}

// Record records a call that has ended in the shard of key.
func (s *Shards) Record(key uint64, call Call) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.Record(call)
}

// RecordResponse records a response on a stream in the shard of key.
func (s *Shards) RecordResponse(key uint64, took time.Duration) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.RecordResponse(took)
}

// Drop records a call that was due but not sent in the shard of key.
func (s *Shards) Drop(key uint64, due time.Duration, name string) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.Drop(due, name)
}

// Merged returns a recorder with what all shards have recorded.
func (s *Shards) Merged() *Recorder {
	all := NewRecorder(s.shards[0].lateAfter)
	for i := range s.shards {
		s.shards[i].Lock()
		all.Merge(s.shards[i].Recorder)
		s.shards[i].Unlock()
	}
	return all
}
