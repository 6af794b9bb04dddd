package measure

import (
	"errors"
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
	Errors   map[string]uint64 `json:"errors,omitempty"`    // by code
	Backends map[string]uint64 `json:"backends,omitempty"`  // answered calls
	InFlight uint64            `json:"in_flight,omitempty"` // now
	Latency  string            `json:"latency"`             // encoded as in a [Measurement]
	Lateness string            `json:"lateness"`            // of answered calls, encoded likewise
}

// Tally is the sum of the counts of several recorders.
type Tally struct {
	calls, dropped, inFlight uint64
	errors, backends         map[string]uint64
	latency, lateness        []int64 // counts by the histogram's index
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
	addBuckets(&tally.latency, r.latency)
	addBuckets(&tally.lateness, r.lateness)
}

// AddInFlight adds calls that are in flight now.
func (t *Tally) AddInFlight(calls uint64) { t.inFlight += calls }

func addBuckets(to *[]int64, from *hdr.Histogram) {
	counts := from.Export().Counts
	if *to == nil {
		*to = counts
		return
	}
	for i, n := range counts {
		(*to)[i] += n
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
	snapshot := Snapshot{Calls: t.calls - before.calls, Dropped: t.dropped - before.dropped, InFlight: t.inFlight, Errors: growth(t.errors, before.errors), Backends: growth(t.backends, before.backends)}
	var errs [2]error
	snapshot.Latency, errs[0] = growthOf(t.latency, before.latency)
	snapshot.Lateness, errs[1] = growthOf(t.lateness, before.lateness)
	return snapshot, errors.Join(errs[:]...)
}

// growthOf returns a histogram of what was added to counts, encoded.
func growthOf(now, before []int64) (string, error) {
	shape := Histogram().Export()
	for i, n := range now {
		shape.Counts[i] = n
		if before != nil {
			shape.Counts[i] -= before[i]
		}
	}
	return encode(Pack(hdr.Import(shape)))
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
