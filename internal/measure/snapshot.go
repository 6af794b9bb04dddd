package measure

import (
	"maps"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// SnapshotInterval is the time between two snapshots of a load in progress.
const SnapshotInterval = time.Second

// Snapshot counts the calls of a load that ended since the previous snapshot. Processes exchange it
// as JSON.
type Snapshot struct {
	Elapsed  time.Duration     `json:"elapsed"` // since the start of the load
	Span     time.Duration     `json:"span"`    // since the previous snapshot
	Calls    uint64            `json:"calls"`   // that ended, answered or failed
	Dropped  uint64            `json:"dropped,omitempty"`
	Errors   map[string]uint64 `json:"errors,omitempty"`   // by code
	Backends map[string]uint64 `json:"backends,omitempty"` // answered calls
	Latency  string            `json:"latency"`            // encoded as in a [Measurement]
}

// Tally is the sum of the counts of several recorders.
type Tally struct {
	calls, dropped   uint64
	errors, backends map[string]uint64
	latency          []int64 // counts by the histogram's index
}

func newTally() *Tally { return &Tally{errors: map[string]uint64{}, backends: map[string]uint64{}} }

// AddTo adds what was recorded so far to a tally. It copies the latencies, so that recording a call costs
// no more with snapshots than without.
func (r *Recorder) AddTo(tally *Tally) {
	tally.calls += r.calls
	tally.dropped += r.dropped
	for code, f := range r.failures {
		tally.errors[code] += f.calls
	}
	for id, b := range r.backends {
		tally.backends[id] += b.calls
	}
	counts := r.latency.Export().Counts
	if tally.latency == nil {
		tally.latency = counts
		return
	}
	for i, n := range counts {
		tally.latency[i] += n
	}
}

// AddTo adds what each shard holds to a tally, one shard after the other.
func (s *Shards) AddTo(t *Tally) {
	for i := range s.shards {
		s.shards[i].Lock()
		s.shards[i].Recorder.AddTo(t)
		s.shards[i].Unlock()
	}
}

// since returns what the recorders counted after an earlier tally.
func (t *Tally) since(before *Tally) (Snapshot, error) {
	snapshot := Snapshot{Calls: t.calls - before.calls, Dropped: t.dropped - before.dropped, Errors: growth(t.errors, before.errors), Backends: growth(t.backends, before.backends)}
	shape := Histogram().Export()
	for i, n := range t.latency {
		shape.Counts[i] = n
		if before.latency != nil {
			shape.Counts[i] -= before.latency[i]
		}
	}
	var err error
	snapshot.Latency, err = encode(Pack(hdr.Import(shape)))
	return snapshot, err
}

// growth returns by how much each count grew, without counts that did not grow.
func growth(now, before map[string]uint64) map[string]uint64 {
	grown := maps.Clone(now)
	maps.DeleteFunc(grown, func(name string, n uint64) bool { return n == before[name] })
	for name := range grown {
		grown[name] -= before[name]
	}
	return grown
}
