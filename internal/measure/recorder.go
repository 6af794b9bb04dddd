package measure

import (
	"errors"
	"maps"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Recorder records calls. It belongs to one goroutine; see [Shards] for many.
type Recorder struct {
	latency, service, lateness *hdr.Histogram
	answers                    *hdr.Histogram // nil: no call was a stream
	calls, dropped             uint64
	errors                     map[string]uint64
	samples                    map[string]string
	backends                   map[string]*backend
	failed                     []uint64
	last                       time.Duration
	cpu                        time.Duration
}

type backend struct {
	calls    uint64
	first    time.Duration
	timeline []uint64
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{
		latency: Histogram(), service: Histogram(), lateness: Histogram(),
		errors: map[string]uint64{}, samples: map[string]string{}, backends: map[string]*backend{},
	}
}

// Record takes a call that ended.
func (r *Recorder) Record(c Call) {
	r.calls++
	r.last = max(r.last, c.Done)
	add(r.lateness, c.Sent-c.Due)
	if c.Code != OK {
		r.errors[c.Code]++
		if r.samples[c.Code] == "" {
			r.samples[c.Code] = c.Message
		}
		count(&r.failed, c.Done)
		return
	}
	add(r.latency, c.Done-c.Due)
	add(r.service, c.Done-c.Sent)
	b := r.backends[c.Backend]
	if b == nil {
		b = &backend{first: c.Done}
		r.backends[c.Backend] = b
	}
	b.calls++
	b.first = min(b.first, c.Done)
	count(&b.timeline, c.Done)
}

// Answer takes one message that came on a stream, and how long after the one that it
// answers was sent.
func (r *Recorder) Answer(took time.Duration) {
	if r.answers == nil {
		r.answers = Histogram()
	}
	add(r.answers, took)
}

// Drop takes a call that was due but not made, for want of room in flight.
func (r *Recorder) Drop() { r.dropped++ }

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
	r.calls += other.calls
	r.dropped += other.dropped
	r.last = max(r.last, other.last)
	r.cpu += other.cpu
	for code, n := range other.errors {
		r.errors[code] += n
		if r.samples[code] == "" {
			r.samples[code] = other.samples[code]
		}
	}
	sum(&r.failed, other.failed)
	for id, theirs := range other.backends {
		ours := r.backends[id]
		if ours == nil {
			ours = &backend{first: theirs.first}
			r.backends[id] = ours
		}
		ours.calls += theirs.calls
		ours.first = min(ours.first, theirs.first)
		sum(&ours.timeline, theirs.timeline)
	}
}

// Measurement is everything recorded; when it began, the peak of memory and what the
// resolver told are left to fill in.
func (r *Recorder) Measurement() (Measurement, error) {
	m := Measurement{
		Elapsed: r.last, Calls: r.calls, Dropped: r.dropped, CPU: r.cpu,
		Errors: maps.Clone(r.errors), Samples: maps.Clone(r.samples),
		Backends: map[string]uint64{}, First: map[string]time.Duration{},
		Timeline: Timeline{Backends: map[string][]uint64{}, Errors: r.failed},
	}
	for id, b := range r.backends {
		m.Backends[id], m.First[id], m.Timeline.Backends[id] = b.calls, b.first, b.timeline
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

func count(timeline *[]uint64, at time.Duration) {
	i := int(at / Interval)
	for len(*timeline) <= i {
		*timeline = append(*timeline, 0)
	}
	(*timeline)[i]++
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

// NewShards returns n recorders.
func NewShards(n int) *Shards {
	s := &Shards{shards: make([]shard, n)}
	for i := range s.shards {
		s.shards[i].Recorder = NewRecorder()
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

// Drop takes a call that was not made, in the shard of key.
func (s *Shards) Drop(key uint64) {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.Lock()
	defer shard.Unlock()
	shard.Drop()
}

// Merged is all shards as one recorder.
func (s *Shards) Merged() *Recorder {
	all := NewRecorder()
	for i := range s.shards {
		s.shards[i].Lock()
		all.Merge(s.shards[i].Recorder)
		s.shards[i].Unlock()
	}
	return all
}
