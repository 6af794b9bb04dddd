package lab

import (
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/measure"
)

// Live is what the calls of a load that goes on did in the last second, all callers
// together.
type Live struct {
	Elapsed  time.Duration // of the load
	Rate     float64       // calls that ended per second
	P50, P99 time.Duration // of their latency; 0: none was answered
	Failed   uint64        // calls that failed or were dropped, from the start on
	// Backends counts the calls answered by each, Errors those that failed by code, and
	// Dropped those that were due and not made.
	Backends, Errors map[string]uint64
	Dropped          uint64
	Latency          *hdr.Histogram // of the calls answered, in nanoseconds; nil: unknown
}

// watch adds up what a crew says once a second. It holds one snapshot of each caller,
// however long the load is.
type watch struct {
	mu     sync.Mutex
	latest []*measure.Snapshot // of each caller since all were told; nil: none yet
	over   []bool              // whose share is made
	failed uint64
	counts Live // what was counted since all were told
	tell   func(Live)
}

func newWatch(callers int, tell func(Live)) *watch {
	return &watch{latest: make([]*measure.Snapshot, callers), over: make([]bool, callers), tell: tell}
}

// reset forgets the load before.
func (w *watch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.latest)
	clear(w.over)
	w.failed, w.counts = 0, Live{}
}

// done says that a caller has made its share: nobody waits for a snapshot of it.
func (w *watch) done(caller int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over[caller] = true
}

// add takes a snapshot, and tells when there is one of every caller that still calls.
func (w *watch) add(caller int, s measure.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(s)
	w.latest[caller] = &s
	now := w.counts
	now.Failed = w.failed
	var latencies []string
	for i, s := range w.latest {
		if s == nil && w.over[i] {
			continue
		}
		if s == nil {
			return
		}
		now.Elapsed = max(now.Elapsed, s.Elapsed)
		now.Rate += float64(s.Calls) / s.Span.Seconds()
		latencies = append(latencies, s.Latency)
	}
	clear(w.latest)
	w.counts = Live{}
	if h, err := measure.MergeHistograms(latencies); err == nil && h.TotalCount() > 0 {
		now.P50, now.P99 = time.Duration(h.ValueAtPercentile(50)), time.Duration(h.ValueAtPercentile(99))
		now.Latency = h
	}
	w.tell(now)
}

// count adds what a caller counted to what all did since they were told.
func (w *watch) count(s measure.Snapshot) {
	w.counts.Dropped += s.Dropped
	w.failed += s.Dropped
	for code, n := range s.Errors {
		w.failed += n
		add(&w.counts.Errors, code, n)
	}
	for id, n := range s.Backends {
		add(&w.counts.Backends, id, n)
	}
}

func add(to *map[string]uint64, name string, n uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[name] += n
}
