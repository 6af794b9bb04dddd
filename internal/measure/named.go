package measure

import (
	"errors"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result/failure"
)

// NamedCalls are the calls of one name in a load of several calls.
type NamedCalls struct {
	Calls   uint64            `json:"calls"` // that ended, answered or failed
	Dropped uint64            `json:"dropped,omitempty"`
	Errors  map[string]uint64 `json:"errors,omitempty"` // by code
	Latency string            `json:"latency"`          // of the answered calls, encoded as in a [Measurement]
}

// namedCalls records calls by their names.
type namedCalls map[string]*callsOfName

type callsOfName struct {
	calls, dropped uint64
	errors         map[string]uint64
	latency        *hdr.Histogram
}

func (n *namedCalls) get(name string) *callsOfName {
	calls := (*n)[name]
	if calls == nil {
		calls = &callsOfName{errors: map[string]uint64{}, latency: Histogram()}
		if *n == nil {
			*n = namedCalls{}
		}
		(*n)[name] = calls
	}
	return calls
}

func (c *callsOfName) record(latency time.Duration, code string, answered bool) {
	c.calls++
	if !answered {
		c.errors[failure.BoundedCode(c.errors, code)]++
		return
	}
	add(c.latency, latency)
}

func (c *callsOfName) merge(other *callsOfName) {
	c.calls += other.calls
	c.dropped += other.dropped
	failure.AddCounts(c.errors, other.errors)
	Pack(other.latency).MergeInto(c.latency)
}

// measured returns what was recorded.
func (n namedCalls) measured() (all map[string]NamedCalls, err error) {
	for name, c := range n {
		latency, failed := encode(Pack(c.latency))
		err = errors.Join(err, failed)
		if all == nil {
			all = map[string]NamedCalls{}
		}
		all[name] = NamedCalls{Calls: c.calls, Dropped: c.dropped, Errors: c.errors, Latency: latency}
	}
	return all, err
}

func addCounts(into, from map[string]uint64) {
	for name, n := range from {
		into[name] += n
	}
}
