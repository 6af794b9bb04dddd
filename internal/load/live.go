package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// Moment is what a load did since the moment before. Times are in ms.
type Moment struct {
	At       time.Duration // since the watch began
	Answered uint64        // so far
	Failed   uint64        // so far, as far as the engine says it at once
	Open     uint64        // sent and not answered: under way, or failed without a word
	Rate     float64       // answers per second
	P50, P99 float64       // of the latency
	Late     float64       // p99 of the lateness
}

// Live watches a load while it runs. What it shows is for the eye: of many calls it
// looks at some. The result has them all.
type Live struct {
	opened  time.Time
	began   sync.Once
	started time.Time      // when the first call became due
	dues    []atomic.Int64 // of the calls under way, by number

	left, answered, failed atomic.Uint64
	skip                   atomic.Uint64 // calls whose number has none of these bits are looked at
	mu                     sync.Mutex
	latency, lateness      *hdr.Histogram

	last   time.Time // when a moment was asked for
	before uint64    // answered until then
}

const (
	// mostSeen is how many calls a second are looked at one by one; of more, one in
	// sixteen is, so that watching costs little beside calling.
	mostSeen = 5000
	oneIn16  = 15
)

// NewLive returns a watch for a load that may have so many calls in flight. Calls
// that wait for their moment may be overtaken, hence room for four times as many.
func NewLive(inFlight int) *Live {
	now := time.Now()
	return &Live{
		opened: now, last: now, dues: make([]atomic.Int64, 4*inFlight),
		latency: measure.Histogram(), lateness: measure.Histogram(),
	}
}

// Moment is what happened since it was last asked. One goroutine may ask.
func (l *Live) Moment() Moment {
	now := time.Now()
	m := Moment{At: now.Sub(l.opened), Answered: l.answered.Load(), Failed: l.failed.Load()}
	if left := l.left.Load(); left > m.Answered+m.Failed {
		m.Open = left - m.Answered - m.Failed
	}
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

// noted is a pace that leaves behind when the calls under way were due.
type noted struct {
	pace.Pace
	live *Live
}

func (n noted) Next(call uint64, after time.Duration) (time.Duration, bool) {
	n.live.began.Do(func() { n.live.started = time.Now() })
	due, more := n.Pace.Next(call, after)
	n.live.dues[call%uint64(len(n.live.dues))].Store(int64(due))
	return due, more
}

// note returns the pace, watched from now on.
func (l *Live) note(p pace.Pace) pace.Pace { return noted{p, l} }

// sent notes that a call leaves.
func (l *Live) sent(n uint64) {
	l.left.Add(1)
	l.look(l.lateness, n)
}

// ended notes that a call has its answer, or has failed.
func (l *Live) ended(n uint64, well bool) {
	if !well {
		l.failed.Add(1)
		return
	}
	l.answered.Add(1)
	l.look(l.latency, n)
}

// look adds the time since a call was due.
func (l *Live) look(to *hdr.Histogram, n uint64) {
	if n&l.skip.Load() != 0 {
		return
	}
	took := time.Since(l.started) - time.Duration(l.dues[n%uint64(len(l.dues))].Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = to.RecordValue(int64(min(max(took, 0), measure.Longest))) // cannot fail within the bounds
}

// watch returns do, with every call noted.
func (l *Live) watch(do caller.Do) caller.Do {
	return func(ctx context.Context, n uint64) (backend, code, text string) {
		l.sent(n)
		backend, code, text = do(ctx, n)
		l.ended(n, code == measure.OK)
		return backend, code, text
	}
}
