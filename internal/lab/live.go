package lab

import (
	"sync"
	"time"

	"rpclab/internal/measure"
)

// Live is what the calls of a load that goes on did, all callers together.
type Live struct {
	Elapsed time.Duration // of the load
	Rate    float64       // calls that ended per second, in the last second
	P99     time.Duration // of their latency; 0: none was answered
	Failed  uint64        // calls that failed or were dropped, from the start on
}

// watch adds up what a crew says once a second. It holds one snapshot of each caller,
// however long the load is.
type watch struct {
	mu     sync.Mutex
	latest []*measure.Snapshot // of each caller since all were told; nil: none yet
	over   []bool              // whose share is made
	failed uint64
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
	w.failed = 0
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
	w.failed += s.Dropped
	for _, n := range s.Errors {
		w.failed += n
	}
	w.latest[caller] = &s
	now := Live{Failed: w.failed}
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
	if h, err := measure.MergeHistograms(latencies); err == nil && h.TotalCount() > 0 {
		now.P99 = time.Duration(h.ValueAtPercentile(99))
	}
	w.tell(now)
}
