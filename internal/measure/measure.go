// Package measure records what calls did: three histograms, calls per backend over
// time, errors by code, and what it cost. Its memory grows with time and backends,
// never with the number of calls.
package measure

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Interval is the width of a timeline's steps.
const Interval = 100 * time.Millisecond

// Late is how long after it was due an answer is late where nobody says otherwise.
const Late = 100 * time.Millisecond

// OK is the code of a call that was answered as it should be; every other is an
// error, by the names of the gRPC status codes (UNAVAILABLE).
const OK = "OK"

// Longest is the largest duration that a histogram holds; longer ones count as this.
const Longest = time.Hour

// Call is one call that ended. Its times count from the start of the load.
type Call struct {
	Due, Sent, Done time.Duration
	Backend         string // identity of who answered; "" when nobody did
	// Answered is how many answers of whom a call stands for that is several; nil: one,
	// by Backend.
	Answered map[string]uint64
	Code     string // [OK] or an error
	Message  string // of the error
}

// Histogram returns an empty histogram of nanoseconds with 3 significant digits.
func Histogram() *hdr.Histogram { return hdr.New(1, int64(Longest), 3) }

// Measurement is what one caller saw in one trial. It crosses processes as JSON.
type Measurement struct {
	Started time.Time `json:"started"` // the moment from which calls were due
	// Began is how long after it was due the first call was sent. It is of one caller: those
	// that are merged have none.
	Began   time.Duration `json:"began"`
	Elapsed time.Duration `json:"elapsed"` // to the end of the last call
	Calls   uint64        `json:"calls"`   // ended, well or badly
	Dropped uint64        `json:"dropped"` // due, but over the in-flight bound
	Late    uint64        `json:"late"`    // answered, but longer after they were due than was allowed
	// Errors counts failed calls by code; Samples has the first message of each.
	Errors  map[string]uint64 `json:"errors"`
	Samples map[string]string `json:"samples"`
	// The histograms are in the standard compressed V2 encoding (base64), in
	// nanoseconds, of the calls that were answered: from due to done, from sent to done. Lateness,
	// from due to sent, is of all calls.
	Latency  string `json:"latency"`
	Service  string `json:"service"`
	Lateness string `json:"lateness"`
	// Answers is of the messages that came on streams; empty: no call was one.
	Answers string `json:"answers,omitempty"`
	// Backends counts answered calls; First is when each one's first answer came.
	Backends map[string]uint64        `json:"backends"`
	First    map[string]time.Duration `json:"first"`
	Timeline Timeline                 `json:"timeline"`
	Told     []Told                   `json:"told"`
	CPU      time.Duration            `json:"cpu"` // of the caller, user and system
	MaxRSS   uint64                   `json:"max_rss"`
	// Throttled is how long the caller's container waited because its quota of CPU was used
	// up, and Stolen which share a hypervisor took of what all processes of its machine
	// wanted; of several callers the sum, and the largest.
	Throttled time.Duration `json:"throttled,omitempty"`
	Stolen    float64       `json:"stolen,omitempty"`
}

// Timeline counts calls by [Interval].
type Timeline struct {
	// By when they ended: those that each backend answered, those that failed, by code, and
	// those that were answered late.
	Backends map[string][]uint64 `json:"backends"`
	Errors   map[string][]uint64 `json:"errors"`
	Late     []uint64            `json:"late"`
	// By when they were due: those that each backend answered, and those that
	// failed or were dropped.
	Due  map[string][]uint64 `json:"due"`
	Lost []uint64            `json:"lost"`
}

// Failed counts the calls that failed by when they ended, whatever the code.
func (t Timeline) Failed() []uint64 {
	var all []uint64
	for _, line := range t.Errors {
		sum(&all, line)
	}
	return all
}

// Told is a set of addresses that the caller's resolver handed to its client.
type Told struct {
	At    time.Time `json:"at"`
	Addrs []string  `json:"addrs"`
}
