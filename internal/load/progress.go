package load

import (
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/measure"
)

// ProgressSnapshot is the progress of a load since the last snapshot. Latencies are in ms.
type ProgressSnapshot struct {
	Phase       string // what rpclab does; "": the measured load
	Round       int    // of the measured load, from 1; 0: none has begun
	Rounds      int
	Elapsed     time.Duration // since the phase began
	Answered    uint64        // total
	Failed      uint64        // total
	InFlight    uint64        // now
	Rate        float64       // answers per second
	P50, P99    float64       // latency
	LatenessP99 float64       // lateness
	// Errors are the calls that failed since the last snapshot, by code. Latency has every answered call,
	// in nanoseconds; nil: the progress samples calls.
	Errors  map[string]uint64
	Latency *hdr.PackedHistogram
}

// Progress observes a running load for display, and is safe for concurrent use. At high rates it
// samples calls; the result contains all of them.
type Progress struct {
	phase      atomic.Pointer[string] // see [ProgressSnapshot]
	phaseStart atomic.Pointer[time.Time]
	round      atomic.Int64
	rounds     atomic.Int64

	began, answered, failed atomic.Uint64
	skip                    atomic.Uint64 // calls whose number has any of these bits are not sampled
	whole                   bool          // every call is recorded
	mu                      sync.Mutex
	latency, lateness       *hdr.Histogram
	errors                  map[string]uint64

	last   time.Time // time of the last snapshot
	before uint64    // answered at the last snapshot
}

const (
	// maxSampledRate is the rate (answers/s) up to which every call is recorded. Above that rate
	// one call in sixteen is recorded, to keep the cost low.
	maxSampledRate = 5000
	sampleMask     = 15
)

// NewProgress returns a Progress without calls.
func NewProgress() *Progress {
	l := &Progress{last: time.Now(), latency: measure.Histogram(), lateness: measure.Histogram(), errors: map[string]uint64{}}
	l.setPhase("")
	return l
}

// RecordEveryCall makes the progress record every call, also at high rates.
func (l *Progress) RecordEveryCall() { l.whole = true }

// setPhase begins a phase of the load. A nil Progress does nothing.
func (l *Progress) setPhase(doing string) {
	if l == nil {
		return
	}
	now := time.Now()
	l.phaseStart.Store(&now)
	l.phase.Store(&doing)
}

// setRound begins a round (from 1) of the measured load. A nil Progress does nothing.
func (l *Progress) setRound(round, rounds int) {
	if l == nil {
		return
	}
	l.round.Store(int64(round))
	l.rounds.Store(int64(rounds))
	l.setPhase("")
}

// Snapshot returns what happened since the last snapshot. Only one goroutine may call it.
func (l *Progress) Snapshot() ProgressSnapshot {
	now := time.Now()
	snapshot := ProgressSnapshot{Phase: *l.phase.Load(), Round: int(l.round.Load()), Rounds: int(l.rounds.Load()), Elapsed: now.Sub(*l.phaseStart.Load()), Answered: l.answered.Load(), Failed: l.failed.Load()}
	snapshot.InFlight = l.began.Load() - snapshot.Answered - snapshot.Failed // a call starts before it ends
	snapshot.Rate = float64(snapshot.Answered-l.before) / now.Sub(l.last).Seconds()
	l.last, l.before = now, snapshot.Answered
	l.skip.Store(0)
	if snapshot.Rate > maxSampledRate && !l.whole {
		l.skip.Store(sampleMask)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := func(h *hdr.Histogram, percentile float64) float64 {
		return float64(h.ValueAtPercentile(percentile)) / 1e6
	}
	snapshot.P50, snapshot.P99, snapshot.LatenessP99 = at(l.latency, 50), at(l.latency, 99), at(l.lateness, 99)
	if l.whole && l.latency.TotalCount() > 0 {
		snapshot.Latency = measure.Pack(l.latency)
	}
	snapshot.Errors, l.errors = l.errors, map[string]uint64{}
	l.latency.Reset()
	l.lateness.Reset()
	return snapshot
}

// CallStarted counts a call that is sent.
func (l *Progress) CallStarted() { l.began.Add(1) }

// CallEnded records a finished call.
func (l *Progress) CallEnded(call measure.Call) {
	if call.Code != measure.OK {
		l.failed.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errors[call.Code]++
		return
	}
	if l.answered.Add(1)&l.skip.Load() != 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	add(l.latency, call.Done-call.Due)
	add(l.lateness, call.Sent-call.Due)
}

func add(to *hdr.Histogram, took time.Duration) {
	_ = to.RecordValue(int64(min(max(took, 0), measure.MaxDuration))) // within the histogram's bounds
}
