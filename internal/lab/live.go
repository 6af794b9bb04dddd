package lab

import (
	"sync"
	"time"

	"rpclab/internal/measure"
)

// liveTotals adds up the snapshots that callers report once a second. It holds one of each
// caller, however long the load is.
type liveTotals struct {
	mu     sync.Mutex
	latest []*measure.Snapshot // of each caller since the last total; nil: none yet
	over   []bool              // callers that have made their share
	failed uint64
	counts Live // since the last total
	tell   func(Live)
}

func newLiveTotals(callers int, tell func(Live)) *liveTotals {
	return &liveTotals{latest: make([]*measure.Snapshot, callers), over: make([]bool, callers), tell: tell}
}

// reset forgets the load before.
func (w *liveTotals) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.latest)
	clear(w.over)
	w.failed, w.counts = 0, Live{}
}

// done says that a caller has made its share: totals no longer wait for it.
func (w *liveTotals) done(caller int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over[caller] = true
}

// add takes a snapshot, and tells the total when there is one of every caller that still calls.
func (w *liveTotals) add(caller int, s measure.Snapshot) {
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

// count adds what a caller counted to the total.
func (w *liveTotals) count(s measure.Snapshot) {
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
