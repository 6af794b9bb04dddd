package load

import (
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/measure"
)

// Moment is what a load did since the moment before. Times are in ms.
type Moment struct {
	Doing    string        // what is done instead of calls that count; "": those
	At       time.Duration // since the load began
	Answered uint64        // so far
	Failed   uint64        // so far
	Open     uint64        // under way
	Rate     float64       // answers per second
	P50, P99 float64       // of the latency
	Late     float64       // p99 of the lateness
}

// Live watches a load while it runs, from any number of threads. What it shows is for
// the eye: of many calls it looks at some. The result has them all.
type Live struct {
	doing  atomic.Pointer[string] // see [Moment]
	opened atomic.Pointer[time.Time]

	began, answered, failed atomic.Uint64
	skip                    atomic.Uint64 // answers whose number has any of these bits are not looked at
	mu                      sync.Mutex
	latency, lateness       *hdr.Histogram

	last   time.Time // when a moment was asked for
	before uint64    // answered until then
}

const (
	// mostSeen is how many answers a second are looked at one by one; of more, one in
	// sixteen is, so that watching costs little beside calling.
	mostSeen = 5000
	oneIn16  = 15
)

// NewLive returns a watch.
func NewLive() *Live {
	l := &Live{last: time.Now(), latency: measure.Histogram(), lateness: measure.Histogram()}
	l.enter("")
	return l
}

// enter begins a part of the load, and what a moment says of it. A load that nobody
// watches has a nil watch.
func (l *Live) enter(doing string) {
	if l == nil {
		return
	}
	now := time.Now()
	l.opened.Store(&now)
	l.doing.Store(&doing)
}

// Moment is what happened since it was last asked. One goroutine may ask.
func (l *Live) Moment() Moment {
	now := time.Now()
	m := Moment{Doing: *l.doing.Load(), At: now.Sub(*l.opened.Load()), Answered: l.answered.Load(), Failed: l.failed.Load()}
	m.Open = l.began.Load() - m.Answered - m.Failed // calls began before they ended
	m.Rate = float64(m.Answered-l.before) / now.Sub(l.last).Seconds()
	l.last, l.before = now, m.Answered
	l.skip.Store(0)
	if m.Rate > mostSeen {
		l.skip.Store(oneIn16)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := func(h *hdr.Histogram, percentile float64) float64 {
		return float64(h.ValueAtPercentile(percentile)) / 1e6
	}
	m.P50, m.P99, m.Late = at(l.latency, 50), at(l.latency, 99), at(l.lateness, 99)
	l.latency.Reset()
	l.lateness.Reset()
	return m
}

// Began notes that a call leaves.
func (l *Live) Began() { l.began.Add(1) }

// Ended notes what became of a call.
func (l *Live) Ended(c measure.Call) {
	if c.Code != measure.OK {
		l.failed.Add(1)
		return
	}
	if l.answered.Add(1)&l.skip.Load() != 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	add(l.latency, c.Done-c.Due)
	add(l.lateness, c.Sent-c.Due)
}

func add(to *hdr.Histogram, took time.Duration) {
	_ = to.RecordValue(int64(min(max(took, 0), measure.Longest))) // cannot fail within the bounds
}
