package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// Moment is what a load did since the moment before.
type Moment struct {
	At       time.Duration // since the watch began
	Calls    uint64        // so far
	Errors   uint64        // so far
	Rate     float64       // calls/s that ended
	Latency  result.Histogram
	Lateness result.Histogram
}

// Live watches a load while it runs. What it shows is for the eye: a call on the edge
// of two moments may be missing in both. The result has them all.
type Live struct {
	opened  time.Time
	began   sync.Once
	started time.Time      // when the first call became due
	dues    []atomic.Int64 // of the calls under way, by number
	now     atomic.Pointer[measure.Shards]
	last    time.Time // when a moment was asked for
	calls   uint64
	errors  uint64
}

const liveShards = 4

// NewLive returns a watch for a load that may have so many calls in flight. Calls
// that wait for their moment may be overtaken, hence room for four times as many.
func NewLive(inFlight int) *Live {
	l := &Live{opened: time.Now(), last: time.Now(), dues: make([]atomic.Int64, 4*inFlight)}
	l.now.Store(measure.NewShards(liveShards))
	return l
}

// Moment is what happened since it was last asked. One goroutine may ask.
func (l *Live) Moment() (Moment, error) {
	window := l.now.Swap(measure.NewShards(liveShards)).Merged()
	seen, err := window.Measurement()
	if err != nil {
		return Moment{}, err
	}
	now := time.Now()
	for _, n := range seen.Errors {
		l.errors += n
	}
	l.calls += seen.Calls
	m := Moment{At: now.Sub(l.opened), Calls: l.calls, Errors: l.errors, Rate: float64(seen.Calls) / now.Sub(l.last).Seconds()}
	l.last = now
	if m.Latency, err = histogram(seen.Latency); err != nil {
		return m, err
	}
	m.Lateness, err = histogram(seen.Lateness)
	return m, err
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

// watch returns do, with every call noted.
func (l *Live) watch(do caller.Do) caller.Do {
	return func(ctx context.Context, n uint64) (backend, code, text string) {
		due := time.Duration(l.dues[n%uint64(len(l.dues))].Load())
		sent := time.Since(l.started)
		backend, code, text = do(ctx, n)
		l.now.Load().Record(n, measure.Call{Due: due, Sent: sent, Done: time.Since(l.started), Backend: backend, Code: code, Message: text})
		return backend, code, text
	}
}

func histogram(hdr string) (result.Histogram, error) {
	return result.Merge([]result.Histogram{{HDR: hdr}})
}
