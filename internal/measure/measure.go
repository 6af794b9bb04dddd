// Package measure records calls: histograms of their times, calls per backend over time, errors by code,
// and the CPU time and memory that the calls cost. The memory of a recorder grows with time and backends,
// never with the number of calls.
package measure

import (
	"time"

	"rpclab/internal/result/failure"
)

// TimelineInterval is the length of a timeline's intervals.
const TimelineInterval = 100 * time.Millisecond

// DefaultLateAfter is how long after its call was due a response counts as late by default.
const DefaultLateAfter = 100 * time.Millisecond

// OK is the code of a call with the expected response. Every other code is an error, named as the
// gRPC status codes are (UNAVAILABLE).
const OK = "OK"

// Call is a call that has ended. Its times count from the start of the load.
type Call struct {
	Due, Sent, Done time.Duration
	Waited          bool   // whether the client kept it until it had a stream or connection for it
	Resent          int    // requests that the client sent again, because the server had not processed them
	Backend         string // identity of the backend that responded; "": none did
	// Backends counts responses by backend if the Call is a request that makes several calls; nil: Backend
	// sent the one response.
	Backends map[string]uint64
	Code     string // [OK] or an error
	Message  string // of the error
	Name     string // of the call, in a load of several calls; "": the load has one
	Steps    []Step // the calls of a flow, which this is; nil: it is one call
}

// Step is one call of a flow. It begins when the one before it ends; the first is due with the flow.
type Step struct {
	Name string
	Code string        // as in [Call]
	Done time.Duration // since the start of the load
}

// Measurement is what one caller measured in one trial. Processes exchange it as JSON.
type Measurement struct {
	Started time.Time `json:"started"` // the time from which calls were due
	// FirstLateness is how late the first call was sent. It is 0 in a merged measurement.
	FirstLateness time.Duration `json:"began"`
	Elapsed       time.Duration `json:"elapsed"` // from Started to the end of the last call
	Calls         uint64        `json:"calls"`   // that ended, answered or failed
	Dropped       uint64        `json:"dropped"` // that were due but not sent, because too many were in flight
	Late          uint64        `json:"late"`    // answered later than allowed, see [NewRecorder]
	// Waited counts the calls that the client kept until it had a stream or connection for them. Of grpc-go
	// it counts waits over 1 ms, of which some may be for a processor. Other callers do not report waits.
	Waited uint64 `json:"waited,omitempty"`
	// Resent counts the requests that the client sent again, because the server had not processed them (REFUSED_STREAM,
	// GOAWAY). Only wire reports them.
	Resent uint64 `json:"resent,omitempty"`
	// Window is the time from Started in which calls were due; 0: they were due until their number was
	// reached. InWindow and AnsweredInWindow count the calls that ended in it.
	Window           time.Duration `json:"window,omitempty"`
	InWindow         uint64        `json:"in_window,omitempty"`
	AnsweredInWindow uint64        `json:"answered_in_window,omitempty"`
	// Errors counts failed calls by code. Samples has the first message of each code.
	Errors  map[string]uint64 `json:"errors"`
	Samples map[string]string `json:"samples"`
	// Reasons are the messages of each code with the numbers of calls. A program in another language reports the first
	// message of each code alone.
	Reasons map[string][]failure.Reason `json:"reasons,omitempty"`
	// The histograms hold nanoseconds in the standard compressed V2 encoding (base64). Latency runs
	// from due to done and Service from sent to done; both hold the answered calls. Lateness runs from
	// due to sent and holds all calls, AnsweredLateness those that were answered.
	Latency          string `json:"latency"`
	Service          string `json:"service"`
	Lateness         string `json:"lateness"`
	AnsweredLateness string `json:"answered_lateness"`
	// Answers holds the response times of single messages on streams; empty: no call was a stream.
	Answers string `json:"answers,omitempty"`
	// ByName are the calls by their names; nil: the load has one call.
	ByName map[string]NamedCalls `json:"by_name,omitempty"`
	// Series holds the latencies by the second in which calls were due.
	Series LatencySeries `json:"series,omitempty"`
	// Backends counts the answered calls; FirstResponse is the time of each backend's first response.
	Backends        map[string]uint64        `json:"backends"`
	FirstResponse   map[string]time.Duration `json:"first"`
	Timeline        Timeline                 `json:"timeline"`
	ResolverUpdates []ResolverUpdate         `json:"resolver_updates"`
	CPU             time.Duration            `json:"cpu"` // of the caller, user and system
	// Connecting is how long the connections that the caller opened during the load took to set up (TCP and TLS),
	// added up. nil: the caller does not report it.
	Connecting *time.Duration `json:"connecting,omitempty"`
	MaxRSS     uint64         `json:"max_rss"`
	// Throttled is how long the caller's container waited because its CPU quota was used up. Stolen is
	// the share of the processor time wanted by the machine's processes that other virtual machines used. A
	// merged measurement has the sum of Throttled and the largest Stolen.
	Throttled time.Duration `json:"throttled,omitempty"`
	Stolen    float64       `json:"stolen,omitempty"`
}

// Timeline counts calls by [TimelineInterval].
type Timeline struct {
	// By the time of their end: the calls that each backend answered, the failed calls by code, and
	// the calls with a late response.
	Backends map[string][]uint64 `json:"backends"`
	Errors   map[string][]uint64 `json:"errors"`
	Late     []uint64            `json:"late"`
	// By the time that they were due: the calls that each backend answered, and the calls that failed
	// or were dropped.
	Due  map[string][]uint64 `json:"due"`
	Lost []uint64            `json:"lost"`
}

// Failed counts the failed calls of all codes by the time of their end.
func (t Timeline) Failed() []uint64 {
	var all []uint64
	for _, line := range t.Errors {
		sum(&all, line)
	}
	return all
}

func sum(into *[]uint64, from []uint64) {
	for len(*into) < len(from) {
		*into = append(*into, 0)
	}
	for i, n := range from {
		(*into)[i] += n
	}
}

// ResolverUpdate is a set of addresses that the caller's resolver passed to its client.
type ResolverUpdate struct {
	At    time.Time `json:"at"`
	Addrs []string  `json:"addrs"`
}

// RenameBackends gives each backend another name. Backends whose new name is empty are removed: which
// backend answered is not known then.
func (m *Measurement) RenameBackends(rename func(string) string) {
	counts := map[string]uint64{}
	first := map[string]time.Duration{}
	answered, due := map[string][]uint64{}, map[string][]uint64{}
	for id, n := range m.Backends {
		name := rename(id)
		if name == "" {
			continue
		}
		counts[name] += n
		if at, known := m.FirstResponse[id]; known {
			if earlier, twice := first[name]; !twice || at < earlier {
				first[name] = at
			}
		}
		merged := answered[name]
		sum(&merged, m.Timeline.Backends[id])
		answered[name] = merged
		merged = due[name]
		sum(&merged, m.Timeline.Due[id])
		due[name] = merged
	}
	m.Backends, m.FirstResponse, m.Timeline.Backends, m.Timeline.Due = counts, first, answered, due
}
