package lab

import (
	"fmt"
	"sync"
	"time"

	"rpclab/internal/measure"
)

// liveTotals adds up the snapshots that callers send once a second. It stores one snapshot of each
// caller.
type liveTotals struct {
	mu     sync.Mutex
	latest []*measure.Snapshot // of each caller since the last total; nil: none so far
	ended  []bool              // callers whose share of the load has ended
	load   int                 // from 1
	failed uint64              // calls since the load started
	calls  uint64              // that ended since the load started
	counts Live                // since the last total
	report func(Live)
}

func newLiveTotals(callers int, report func(Live)) *liveTotals {
	return &liveTotals{latest: make([]*measure.Snapshot, callers), ended: make([]bool, callers), report: report}
}

// reset prepares for the next load.
func (l *liveTotals) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.latest)
	clear(l.ended)
	l.failed, l.calls, l.counts = 0, 0, Live{}
	l.load++
}

// end records that a caller's share of the load has ended. Totals no longer wait for it.
func (l *liveTotals) end(caller int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[caller] = true
}

// interrupted says what an interrupt ended: a load of which callers have not returned what they measured.
func (l *liveTotals) interrupted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == 0 {
		return "interrupted before a call was measured"
	}
	return fmt.Sprintf("interrupted after at least %d calls, which are not kept", l.calls)
}

// add adds a snapshot, and reports the total when every caller whose load continues has sent one.
func (l *liveTotals) add(caller int, s measure.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(s)
	l.latest[caller] = &s
	now := l.counts
	now.Load, now.Failed = l.load, l.failed
	var latencies, lateness []string
	for i, s := range l.latest {
		if s == nil && l.ended[i] {
			continue
		}
		if s == nil {
			return
		}
		now.Elapsed = max(now.Elapsed, s.Elapsed)
		now.Rate += float64(s.Calls) / s.Span.Seconds()
		now.InFlight += s.InFlight
		latencies, lateness = append(latencies, s.Latency), append(lateness, s.Lateness)
	}
	clear(l.latest)
	l.counts = Live{}
	if h, err := measure.MergeHistograms(latencies); err == nil && h.TotalCount() > 0 {
		now.P50, now.P99 = time.Duration(h.ValueAtPercentile(50)), time.Duration(h.ValueAtPercentile(99))
		now.Latency = h
	}
	if h, err := measure.MergeHistograms(lateness); err == nil {
		now.Late = time.Duration(h.ValueAtPercentile(99))
	}
	l.report(now)
}

// count adds the counts of a caller to the total.
func (l *liveTotals) count(s measure.Snapshot) {
	l.calls += s.Calls
	l.counts.Dropped += s.Dropped
	l.failed += s.Dropped
	for code, n := range s.Errors {
		l.failed += n
		add(&l.counts.Errors, code, n)
	}
	for id, n := range s.Backends {
		add(&l.counts.Backends, id, n)
	}
}

func add(to *map[string]uint64, name string, n uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[name] += n
}
