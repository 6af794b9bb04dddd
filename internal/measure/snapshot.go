package measure

import (
	"maps"
	"runtime"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Glimpse is how often a load that goes on says what its calls did.
const Glimpse = time.Second

// Snapshot is what the calls of a load did since the snapshot before. It crosses
// processes as JSON.
type Snapshot struct {
	Elapsed  time.Duration     `json:"elapsed"` // of the load, when it was taken
	Span     time.Duration     `json:"span"`    // since the one before
	Calls    uint64            `json:"calls"`   // ended, well or badly
	Dropped  uint64            `json:"dropped,omitempty"`
	Errors   map[string]uint64 `json:"errors,omitempty"`   // by code
	Backends map[string]uint64 `json:"backends,omitempty"` // answered calls
	Latency  string            `json:"latency"`            // as that of a [Measurement]
}

// Tally adds up what recorders hold at a moment.
type Tally struct {
	calls, dropped   uint64
	errors, backends map[string]uint64
	latency          []int64 // counts by the histogram's own index
}

func newTally() *Tally { return &Tally{errors: map[string]uint64{}, backends: map[string]uint64{}} }

// Count adds to a tally what was recorded until now. Who records pays only here, for a
// copy of one histogram, and never with a call.
func (r *Recorder) Count(t *Tally) {
	t.calls += r.calls
	t.dropped += r.dropped
	for code, f := range r.failures {
		t.errors[code] += f.calls
	}
	for id, b := range r.backends {
		t.backends[id] += b.calls
	}
	counts := r.latency.Export().Counts
	if t.latency == nil {
		t.latency = counts
		return
	}
	for i, n := range counts {
		t.latency[i] += n
	}
}

// Count adds to a tally what all shards hold, one after the other.
func (s *Shards) Count(t *Tally) {
	for i := range s.shards {
		s.shards[i].Lock()
		s.shards[i].Recorder.Count(t)
		s.shards[i].Unlock()
	}
}

// since is what came to a tally after an earlier one of the same recorders.
func (t *Tally) since(before *Tally) (Snapshot, error) {
	s := Snapshot{Calls: t.calls - before.calls, Dropped: t.dropped - before.dropped, Errors: less(t.errors, before.errors), Backends: less(t.backends, before.backends)}
	shape := Histogram().Export()
	for i, n := range t.latency {
		shape.Counts[i] = n
		if before.latency != nil {
			shape.Counts[i] -= before.latency[i]
		}
	}
	var err error
	s.Latency, err = encode(hdr.Import(shape))
	return s, err
}

// less is what each count grew by.
func less(now, before map[string]uint64) map[string]uint64 {
	grown := maps.Clone(now)
	maps.DeleteFunc(grown, func(name string, n uint64) bool { return n == before[name] })
	for name := range grown {
		grown[name] -= before[name]
	}
	return grown
}

// Watch lets who watches a load that begins at start see it until the returned function
// is called, which says how much CPU time that took: it is no part of what calls cost.
// count adds up what its recorders hold.
func (c Cue) Watch(start time.Time, count func(*Tally)) (end func() time.Duration) {
	if c.Seen == nil {
		return func() time.Duration { return 0 }
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	var spent time.Duration
	watching.Go(func() {
		before, last := newTally(), time.Duration(0)
		for {
			next := time.NewTimer(time.Until(start.Add((last + Glimpse).Truncate(Glimpse))))
			select {
			case <-next.C:
			case <-over:
				next.Stop()
				return
			}
			runtime.LockOSThread()
			used := threadCPU()
			now := newTally()
			count(now)
			elapsed := time.Since(start)
			if s, err := now.since(before); err == nil { // else the next one tells
				s.Elapsed, s.Span = elapsed, elapsed-last
				c.Seen(s)
				before, last = now, elapsed
			}
			spent += threadCPU() - used
			runtime.UnlockOSThread()
		}
	})
	return sync.OnceValue(func() time.Duration {
		close(over)
		watching.Wait()
		return spent
	})
}
