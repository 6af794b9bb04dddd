package measure

import (
	"cmp"
	"errors"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Recorder records calls. It belongs to one goroutine; see [Shards] for many.
type Recorder struct {
	latency, service, lateness *hdr.Histogram
	answers                    *hdr.Histogram // nil: no call was a stream
	calls, dropped, late       uint64
	allowed                    time.Duration       // from due to done; what takes longer is late
	failures                   map[string]*failure // by code
	backends                   map[string]*backend
	tardy, lost                []uint64      // calls by interval: late ones; failed and dropped ones by when they were due
	first, began               time.Duration // of the first call: when it was due, and how much later sent
	last                       time.Duration
	cpu                        time.Duration
}

type backend struct {
	calls    uint64
	first    time.Duration
	timeline []uint64
	due      []uint64 // the timeline by when calls were due
}

type failure struct {
	calls    uint64
	sample   string // the first message
	timeline []uint64
}

// NewRecorder returns an empty recorder. An answer that comes longer than late after its
// call was due is late; 0: [Late].
func NewRecorder(late time.Duration) *Recorder {
	return &Recorder{
		allowed: cmp.Or(late, Late),
		latency: Histogram(), service: Histogram(), lateness: Histogram(),
		failures: map[string]*failure{}, backends: map[string]*backend{},
	}
}

// Record takes a call that ended.
func (r *Recorder) Record(c Call) {
	r.begin(c.Due, c.Sent-c.Due)
	r.calls++
	r.last = max(r.last, c.Done)
	add(r.lateness, c.Sent-c.Due)
	if c.Code != OK {
		f := r.failures[c.Code]
		if f == nil {
			f = &failure{sample: c.Message}
			r.failures[c.Code] = f
		}
		f.calls++
		count(&f.timeline, c.Done, 1)
		count(&r.lost, c.Due, 1)
		return
	}
	add(r.latency, c.Done-c.Due)
	add(r.service, c.Done-c.Sent)
	if c.Done-c.Due > r.allowed {
		r.late++
		count(&r.tardy, c.Done, 1)
	}
	if c.Answered == nil {
		r.answered(c, c.Backend, 1)
	}
	for id, n := range c.Answered {
		r.answered(c, id, n)
	}
}

// begin takes when a call was due, and how much later it was sent, before it is counted:
// the first call that was due counts, of several the first that was sent.
func (r *Recorder) begin(due, late time.Duration) {
	if r.calls == 0 || due < r.first || due == r.first && late < r.began {
		r.first, r.began = due, late
	}
}

// answered takes n answers of a backend, that came with a call.
func (r *Recorder) answered(c Call, id string, n uint64) {
	b := r.backends[id]
	if b == nil {
		b = &backend{first: c.Done}
		r.backends[id] = b
	}
	b.calls += n
	b.first = min(b.first, c.Done)
	count(&b.timeline, c.Done, n)
	count(&b.due, c.Due, n)
}

// Answer takes one message that came on a stream, and how long after the one that it
// answers was sent.
func (r *Recorder) Answer(took time.Duration) {
	if r.answers == nil {
		r.answers = Histogram()
	}
	add(r.answers, took)
}

// Drop takes a call that was due at a time but not made, for want of room in flight.
func (r *Recorder) Drop(due time.Duration) {
	r.dropped++
	count(&r.lost, due, 1)
}

// Spend takes the CPU time that making the calls cost, and recording them one by one,
// but not what it takes to sum them up.
func (r *Recorder) Spend(cpu time.Duration) { r.cpu += cpu }

// Merge adds everything that other recorded.
func (r *Recorder) Merge(other *Recorder) {
	r.latency.Merge(other.latency)
	r.service.Merge(other.service)
	r.lateness.Merge(other.lateness)
	if other.answers != nil {
		if r.answers == nil {
			r.answers = Histogram()
		}
		r.answers.Merge(other.answers)
	}
	if other.calls > 0 {
		r.begin(other.first, other.began)
	}
	r.calls += other.calls
	r.dropped += other.dropped
	r.late += other.late
	r.last = max(r.last, other.last)
	r.cpu += other.cpu
	for code, theirs := range other.failures {
		ours := r.failures[code]
		if ours == nil {
			ours = &failure{sample: theirs.sample}
			r.failures[code] = ours
		}
		ours.calls += theirs.calls
		sum(&ours.timeline, theirs.timeline)
	}
	sum(&r.tardy, other.tardy)
	sum(&r.lost, other.lost)
	for id, theirs := range other.backends {
		ours := r.backends[id]
		if ours == nil {
			ours = &backend{first: theirs.first}
			r.backends[id] = ours
		}
		ours.calls += theirs.calls
		ours.first = min(ours.first, theirs.first)
		sum(&ours.timeline, theirs.timeline)
		sum(&ours.due, theirs.due)
	}
}

// Measurement is everything recorded; when it began, the peak of memory and what the
// resolver told are left to fill in.
func (r *Recorder) Measurement() (Measurement, error) {
	m := Measurement{
		Began: r.began, Elapsed: r.last, Calls: r.calls, Dropped: r.dropped, Late: r.late, CPU: r.cpu,
		Errors: map[string]uint64{}, Samples: map[string]string{},
		Backends: map[string]uint64{}, First: map[string]time.Duration{},
		Timeline: Timeline{Backends: map[string][]uint64{}, Errors: map[string][]uint64{}, Late: r.tardy, Due: map[string][]uint64{}, Lost: r.lost},
	}
	for code, f := range r.failures {
		m.Errors[code], m.Samples[code], m.Timeline.Errors[code] = f.calls, f.sample, f.timeline
	}
	for id, b := range r.backends {
		m.Backends[id], m.First[id] = b.calls, b.first
		m.Timeline.Backends[id], m.Timeline.Due[id] = b.timeline, b.due
	}
	var errs [4]error
	m.Latency, errs[0] = encode(r.latency)
	m.Service, errs[1] = encode(r.service)
	m.Lateness, errs[2] = encode(r.lateness)
	if r.answers != nil {
		m.Answers, errs[3] = encode(r.answers)
	}
	return m, errors.Join(errs[:]...)
}

func encode(h *hdr.Histogram) (string, error) {
	text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(text), err
}

// add records a duration, from 0 to [Longest]. A clock that stepped back counts as 0.
func add(h *hdr.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 0), Longest))) // cannot fail within the bounds
}

func count(timeline *[]uint64, at time.Duration, n uint64) {
	i := int(at / Interval)
	for len(*timeline) <= i {
		*timeline = append(*timeline, 0)
	}
	(*timeline)[i] += n
}

func sum(into *[]uint64, from []uint64) {
	for len(*into) < len(from) {
		*into = append(*into, 0)
	}
	for i, n := range from {
		(*into)[i] += n
	}
}

// Shards are recorders for goroutines that record at the same time: each picks one
// by a number of its own, so that they seldom meet.
type Shards struct {
	shards []shard
}

type shard struct {
	sync.Mutex
	*Recorder
	_ [64]byte // keeps neighbours off one cache line
}

// NewShards returns n recorders; see [NewRecorder].
func NewShards(n int, late time.Duration) *Shards {
	s := &Shards{shards: make([]shard, n)}
	for i := range s.shards {
		s.shards[i].Recorder = NewRecorder(late)
	}
	return s
}

// Record takes a call that ended, in the shard of key.
func (s *Shards) Record(key uint64, c Call) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.Record(c)
}

// Drop takes a call that was due but not made, in the shard of key.
func (s *Shards) Drop(key uint64, due time.Duration) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.Drop(due)
}

// Merged is all shards as one recorder.
func (s *Shards) Merged() *Recorder {
	all := NewRecorder(s.shards[0].allowed)
	for i := range s.shards {
		s.shards[i].Lock()
		all.Merge(s.shards[i].Recorder)
		s.shards[i].Unlock()
	}
	return all
}
