// Package result defines the result document of a run: its question, settings, measurements and
// verdicts. Every report uses only this document. The package also stores documents.
package result

import (
	"encoding/json"
	"time"

	"rpclab/internal/result/failure"
)

// Schema is the version of the JSON form of a [Document]; readers reject other versions.
const Schema = schemaName + "1"

const (
	schemaName    = "rpclab.result/v"
	schemaVersion = 1
)

// Document is one run. Durations are in milliseconds and times in UTC unless a
// field's name says otherwise.
type Document struct {
	Schema     string     `json:"schema"`
	ID         string     `json:"id"`
	Experiment string     `json:"experiment"`
	Question   string     `json:"question"`
	Source     string     `json:"source,omitempty"` // title of the published study
	Cluster    string     `json:"cluster" enum:"local,kubernetes"`
	Started    time.Time  `json:"started"`
	Finished   *time.Time `json:"finished,omitempty"`
	// Partial is true while trials are missing: the run is in progress, or ended early.
	Partial bool    `json:"partial,omitempty"`
	Machine Machine `json:"machine"`
	// Design is how arms were measured: isolated (one trial after another), interleaved (all arms of a cell
	// were up and warm, and took turns in short blocks), side-by-side (two arms at the same time); empty:
	// isolated.
	Design string `json:"design,omitempty" enum:"isolated,interleaved,side-by-side"`
	Rounds int    `json:"rounds"`
	// Groups are the arms that were up at the same time, where not all of a cell fitted; nil: they fitted, or the
	// design is isolated. The baseline has a trial in every group of a round.
	Groups *Groups `json:"groups,omitempty"`
	// Margin is the largest difference, as a share, that counts as none; 0 means 0.03.
	Margin float64 `json:"margin,omitempty"`
	Seed   uint64  `json:"seed"`
	// Looks are the numbers of rounds after which a run until decided examines its verdicts; empty:
	// the number of rounds was fixed.
	Looks []int `json:"looks,omitempty"`
	// MergedRounds are the rounds of each run of which this document was merged; nil: it is one run.
	MergedRounds []int `json:"-"`
	// TimeLimitMS is the time after which the run begins no further round; 0: it had no limit.
	TimeLimitMS int64 `json:"time_limit_ms,omitempty"`
	// Ended is why the run ended; empty: it is in progress or was interrupted, or the document is older.
	Ended Ended `json:"ended,omitempty" enum:"decided,rounds,time"`
	Quick bool  `json:"quick,omitempty"`
	// Conditions is the outcome of --assert and --gate; empty: there were none, the run ended early, or the document is
	// older.
	Conditions Conditions `json:"conditions,omitempty" enum:"passed,failed,accepted"`
	// Assertions are those of --assert on each arm. Empty: there were none, or the document is older.
	Assertions []Assertion `json:"assertions,omitempty"`
	// Gates are those of --gate. nil: there were none, the run ended early, or the document is older.
	Gates *Gates `json:"gates,omitempty"`
	// Definition is the YAML of the experiment. Command is the command line that repeats the
	// run. Empty: not recorded.
	Definition string `json:"definition,omitempty"`
	Command    string `json:"command,omitempty"`
	Baseline   string `json:"baseline"` // the arm with which the other arms are compared
	// Headline are the metrics of the verdicts that answer the question, the most important first. Empty:
	// latency_p50 and latency_p99, or capacity if the load is a search.
	Headline []string `json:"headline,omitempty"`
	// Changed are the settings, path=value, that --set and --quick changed, without rounds and
	// sweep.
	Changed  []string `json:"changed,omitempty"`
	Warnings []string `json:"warnings"`
	// MachineWarnings are the warnings about the machine as fields; empty: none, or the document is older.
	MachineWarnings []MachineWarning `json:"machine_warnings,omitempty"`
	// FaultProxies are the costs of the fault proxies; empty: there were none, or the document is older.
	FaultProxies []FaultProxy `json:"fault_proxies,omitempty"`
	Arms         []Arm        `json:"arms"` // one for each arm in each cell
	Verdicts     []Verdict    `json:"verdicts"`
	Events       []Event      `json:"events"`
	// Longer is how long a run must be to detect smaller differences, for each headline metric with undecided
	// verdicts.
	Longer    []Longer    `json:"longer,omitempty"`
	Confounds []Confound  `json:"confounds,omitempty"`
	Accounts  []Account   `json:"accounts,omitempty"` // of the confounds
	Published []Published `json:"published_figures,omitempty"`
	// Size is the load behind the study's figures, if the run's load was smaller; else empty.
	Size       string `json:"published_size,omitempty"`
	TrialCount int    `json:"trials_planned"`
}

// Ended is why a run ended.
type Ended string

const (
	EndedDecided Ended = "decided" // no headline verdict was undecided
	EndedRounds  Ended = "rounds"  // it had all its rounds
	EndedTime    Ended = "time"    // another round would have ended after the time limit
)

// Measures are the measurements of one trial, or of all trials of an arm merged.
type Measures struct {
	Calls   uint64            `json:"calls"` // answered, with success or an error
	Errors  map[string]uint64 `json:"errors"`
	Late    uint64            `json:"late"`    // answered, but later than caller.late after they were due
	Dropped uint64            `json:"dropped"` // due, but not sent: too many calls were in flight
	// Waited is the number of calls that the client kept until it had a stream or connection for them. Of grpc-go it counts
	// waits over 1 ms, which may be for a processor. Missing: no call waited, or the caller does not report waits.
	Waited uint64 `json:"waited,omitempty"`
	Resent uint64 `json:"resent,omitempty"` // requests sent again, as the server had not processed them; only wire reports them
	// Wasted is the number of calls that backends started and whose answer no caller received:
	// failed, cancelled, retried or hedged calls. It excludes backends that were killed or
	// paused, which cannot report. nil: not known.
	Wasted *uint64 `json:"wasted,omitempty"`
	// Rate is calls/s: those that ended in the window over its length or, without a window, all over
	// the time until the last ended.
	Rate float64 `json:"rate"`
	// Window is the time in which calls were due. nil: they were due until their number was reached, nine tenths
	// of the successful ones took over a third of it, the load was interrupted, or the document is older.
	Window *Window `json:"window,omitempty"`
	// ElapsedMS runs from the start of the load to the last answer (an arm: the median trial).
	ElapsedMS float64 `json:"elapsed_ms"`
	// Latency is of all calls that were due. A call that failed or was dropped counts as its
	// deadline, or as the slowest answer or the greatest lateness if that is longer.
	Latency Histogram `json:"latency_ms"`
	// AnsweredLatency is of the successful calls alone. nil: no call was lost, so it equals Latency.
	AnsweredLatency *Histogram `json:"answered_latency_ms,omitempty"`
	Service         Histogram  `json:"service_ms"`  // of the successful calls
	Lateness        Histogram  `json:"lateness_ms"` // of all calls that were sent
	// AnsweredLateness is of the successful calls alone. nil: no call failed, so it equals Lateness.
	AnsweredLateness *Histogram `json:"answered_lateness_ms,omitempty"`
	// Messages is the latency of each message received on a stream, counted from the time at
	// which the message that it answers was sent. nil: calls were not streams.
	Messages  *Histogram        `json:"message_ms,omitempty"`
	Backends  map[string]uint64 `json:"backends"` // every ready backend, also those without calls
	Balance   Balance           `json:"balance" zero:"null"`
	Resources Resources         `json:"resources"`
	// Kernel is what the kernel of this machine counted during the load, per call. nil: not known, because the
	// load was made on other machines or at the same time as that of another arm.
	Kernel *Kernel `json:"kernel_per_call,omitempty"`
	// JVM is what the Java virtual machines of servers and gateways on this machine spent on themselves, per call. nil:
	// there are none, or one has ended.
	JVM *JVM `json:"jvm_per_call,omitempty"`
	// ConnectingMS is how long the connections that callers opened during the load took to set up (TCP and TLS), per
	// call. nil: the caller does not report it.
	ConnectingMS *float64 `json:"connecting_ms_per_call,omitempty"`
	// Samples is the first error message for each error code.
	Samples map[string]string `json:"error_samples,omitempty"`
	// Reasons counts the failed calls of each error code by message, for at most five messages a code. Messages that differ
	// in figures count as one. Missing, or with fewer calls than Errors: not every message is known.
	Reasons map[string][]failure.Reason `json:"error_reasons,omitempty"`
	// ByName are the calls of a user's service by their names; empty: the arm makes one call.
	ByName map[string]NamedCalls `json:"calls_by_name,omitempty"`
}

// NamedCalls are the calls of one name.
type NamedCalls struct {
	Due      uint64            `json:"due"`
	Answered uint64            `json:"answered"` // with success
	Errors   map[string]uint64 `json:"errors"`   // failed calls by code
	Dropped  uint64            `json:"dropped,omitempty"`
	// Latency is of all calls that were due, as that of [Measures].
	Latency Histogram `json:"latency_ms"`
}

// Window is the time from the start of a load, or of all its blocks together, in which its calls were due.
type Window struct {
	LengthMS float64 `json:"length_ms"`
	// DrainMS is the time from the end of the window until the last call ended (of an arm: that of the trial
	// with the longest).
	DrainMS float64 `json:"drain_ms"`
	// AnsweredRate is the rate of the calls that ended in the window with success.
	AnsweredRate float64 `json:"answered_rate"`
}

// Failed returns the number of failed calls of all codes.
func (m Measures) Failed() (n uint64) {
	for _, calls := range m.Errors {
		n += calls
	}
	return n
}

// Answered returns the successful calls per second. Rate alone would reward calls that fail at once.
func (m Measures) Answered() float64 {
	if m.Window != nil {
		return m.Window.AnsweredRate
	}
	return m.Rate * (1 - float64(m.Failed())/float64(max(m.Calls, 1)))
}

// Answers returns the latency of the successful calls alone.
func (m Measures) Answers() Histogram {
	if m.AnsweredLatency != nil {
		return *m.AnsweredLatency
	}
	return m.Latency
}

// AnswersLateness returns the lateness of the successful calls alone.
func (m Measures) AnswersLateness() Histogram {
	if m.AnsweredLateness != nil {
		return *m.AnsweredLateness
	}
	return m.Lateness
}

// RateMS returns the time in milliseconds that Rate is over.
func (m Measures) RateMS() float64 {
	if m.Window != nil {
		return m.Window.LengthMS
	}
	return m.ElapsedMS
}

// CountLost adds the calls that failed or were dropped to a Latency of the successful calls, except those cancelled.
func (m *Measures) CountLost(deadline time.Duration, cancelled uint64) (err error) {
	lost := m.Failed() + m.Dropped - cancelled
	if lost == 0 {
		return nil
	}
	m.AnsweredLatency = new(m.Latency)
	late := time.Duration(m.Lateness.Max * nsPerMS)
	m.Latency, err = m.Latency.CountLost(lost, max(deadline, late))
	return err
}

// Lost returns the share of the calls due that failed or were dropped.
func (m Measures) Lost() float64 {
	return float64(m.Failed()+m.Dropped) / float64(max(m.Calls+m.Dropped, 1))
}

// Arm is one arm in one cell, with its trials merged.
//
// Backends is summed by identity. Balance is computed for each trial and then pooled, because
// every trial opens new connections.
type Arm struct {
	Name      string         `json:"name"`
	Published bool           `json:"published"`          // as the study did it
	Label     string         `json:"label,omitempty"`    // the name of the arm in the study
	Control   string         `json:"control,omitempty"`  // the arm that this one repeats (A/A)
	Against   string         `json:"against,omitempty"`  // the arm with which this arm is compared; empty: the baseline
	Describe  string         `json:"describe,omitempty"` // one clause on how calls reach a backend
	Route     string         `json:"route"`
	Channel   string         `json:"channel"`
	Policy    string         `json:"policy,omitempty"` // load balancing policy, such as round_robin; empty: there is no choice, or it is not known
	Cell      Cell           `json:"cell"`
	Config    map[string]any `json:"config"`
	// OwnService is the user's service that the arm calls; nil: rpclab's own servers, or the document is older.
	OwnService *Service `json:"service,omitempty"`
	// PickedBy is what picks the backend: client or proxy (for each call), kernel (for each
	// connection) or nobody. Discovery is how the client discovers new backends: dns, watch or
	// xds; empty: not at all. Update is one clause on how, and how soon, a change arrives.
	PickedBy  string `json:"picked_by,omitempty"`
	Discovery string `json:"discovery,omitempty"`
	Update    string `json:"update,omitempty"`
	// Tool is the program that the route needs, as Machine.Tools names it; empty: none, or the
	// document is older.
	Tool string `json:"tool,omitempty"`
	// Untested means that no test of rpclab calls through the route.
	Untested bool `json:"untested,omitempty"`
	// Limited says how the load generator limited these numbers; empty: not at all.
	Limited string `json:"limited,omitempty"`
	// Capacity is the result of a search load; nil: the load was no search. Then Measures are
	// those at the rates that met the objective.
	Capacity *Capacities `json:"capacity,omitempty"`
	// Bound is the most that users and threads allow; nil: not known.
	Bound *Bound `json:"bound,omitempty"`
	// Followed is the time until calls reached new backends; nil: no event added a backend.
	Followed *FollowTime `json:"followed,omitempty"`
	Measures
	// Files are the generated configuration files of the route's components in the first trial,
	// by name.
	Files  map[string]string `json:"files,omitempty"`
	Trials []Trial           `json:"trials"`
}

// Trial is one arm, in one cell, in one round.
type Trial struct {
	Round int `json:"round"` // from 1
	// Group is the one of [Document.Groups] in which the arm was up, from 1; 0: there are no groups.
	Group   int       `json:"group,omitempty"`
	Order   int       `json:"order"` // position in the run, from 0
	Started time.Time `json:"started"`
	Failed  string    `json:"failed,omitempty"` // why the trial has no measurement
	Limited string    `json:"limited,omitempty"`
	// LimitedBy is the kind of Limited; empty: Limited is empty, is of a search, or is of an older document.
	LimitedBy Limit `json:"limited_by,omitempty" enum:"lateness,processors"`
	// Limits is what enforced server.cpus and server.memory: cgroup v1, cgroup v2, or pinned
	// (by CPU affinity and the language runtime); empty: no limits, or the cluster enforced them.
	Limits string `json:"limits,omitempty"`
	// WarmUp is the warm-up until steady; nil: none was asked for.
	WarmUp *WarmUp `json:"warmup,omitempty"`
	// Memory is the memory of the servers over time; nil: not measured.
	Memory *Memory `json:"memory,omitempty"`
	// Capacity is the result of a search; nil: the load was no search. Then Measures are those
	// of the full-length probe at the highest rate that met the objective.
	Capacity *Capacity `json:"capacity,omitempty"`
	Measures
	Cancelled uint64 `json:"cancelled,omitempty"` // calls in flight at the interrupt that ended the load: they failed, and are not in the latency
	// Blocks are the parts of a load whose arms took turns; Measures merges them. Empty: the load was one
	// piece.
	Blocks []Block `json:"blocks,omitempty"`
	// Machine is the interference of other processes during the trial; nil: not measured.
	Machine *Interference `json:"machine,omitempty"`
	// MachineWarnings are those of this trial, without its place.
	MachineWarnings []MachineWarning `json:"machine_warnings,omitempty"`
	// IdleCPU is the share of one processor that the arm's processes used while other arms took their
	// turns; nil: not known, or the arm had the machine for itself.
	IdleCPU *float64 `json:"idle_cpu,omitempty"`
	// Callers are the callers that shared the load; Measures sums them. Empty: one caller.
	Callers []Caller `json:"callers,omitempty"`
	// ProxyConnections is the number of callers' connections that each proxy worker accepted;
	// empty: no proxy, or the proxy does not report it.
	ProxyConnections []uint64 `json:"proxy_connections,omitempty"`
	// Servers is the resource usage of each backend.
	Servers map[string]ServerUsage `json:"servers,omitempty"`
	// Unknown says what could not be measured, and why.
	Unknown string `json:"unknown,omitempty"`
	// Files are the configuration files, as in [Arm], in the first trial of an unfinished run.
	Files map[string]string `json:"files,omitempty"`
	// Lost names the backends that exited unexpectedly, did not start, or were changed by others.
	Lost     []string  `json:"lost,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
	// LatencyOverTime is the latency by second, or by longer intervals in a long load; nil: not
	// measured.
	LatencyOverTime *LatencyOverTime `json:"latency_over_time,omitempty"`
	Events          []Event          `json:"events,omitempty"`
	// Groups are counts of calls per ready backend, from which the balance is computed: one
	// group, or one for each second in which the set of ready backends did not change.
	Groups [][]uint64 `json:"groups,omitempty"`
}

// Timeline counts the calls that ended in each interval of a trial.
type Timeline struct {
	IntervalMS int64               `json:"interval_ms"`
	Backends   map[string][]uint64 `json:"backends"` // answered calls
	Errors     []uint64            `json:"errors"`   // failed calls
	Late       []uint64            `json:"late"`     // answered calls that were late
	// Ready is the number of ready backends at the start of each interval.
	Ready []int `json:"ready"`
}

// Balance says how evenly calls were distributed over the ready backends. In JSON it is null instead of zero: rpclab does
// not know which backends answered, or there was no load.
type Balance struct {
	// Jain is Jain's fairness index, 1/n (one backend received all calls) to 1 (even).
	Jain float64 `json:"jain"`
	// MaxOverMean is the calls of the busiest backend divided by the mean, 1 to n.
	MaxOverMean float64 `json:"max_over_mean"`
	// PRandom is the two-sided p-value of the hypothesis that each call went to a random backend.
	PRandom float64 `json:"p_random"`
	// Pattern is one-takes-all, uneven, as-chance, takes-turns or too-few-calls.
	Pattern string `json:"pattern,omitempty"`
}

// MarshalJSON writes null for a balance that is not known.
func (b Balance) MarshalJSON() ([]byte, error) {
	if b == (Balance{}) {
		return []byte("null"), nil
	}
	type plain Balance // without this method
	return json.Marshal(plain(b))
}

// Resources is the usage of each component; zero if the arm does not have it.
type Resources struct {
	// Client is of all callers together: CPU and the peaks of memory are sums. In JSON it is null instead of zero: a client
	// has ended, so its usage is not known.
	Client Usage `json:"client" zero:"null"`
	// Server has the CPU summed over all servers and the memory of the largest. In JSON it is null instead
	// of zero: rpclab did not start the server, so its usage is not known.
	Server Usage `json:"server" zero:"null"`
	Proxy  Usage `json:"proxy"`
	// Gateway is the HTTP gateway that makes the gRPC calls.
	Gateway Usage `json:"gateway"`
	// Control is the control plane. It works when backends change, not for each call.
	Control Usage `json:"control"`
}

// MarshalJSON writes null for clients and servers whose usage is not known.
func (r Resources) MarshalJSON() ([]byte, error) {
	type plain Resources // without this method
	return json.Marshal(struct {
		plain
		Client *Usage `json:"client"`
		Server *Usage `json:"server"`
	}{plain(r), r.Client.known(), r.Server.known()})
}

// ServerUsage is what one backend used in one trial.
type ServerUsage struct {
	CPUMS float64 `json:"cpu_ms"` // user and system time
	RSS   uint64  `json:"rss_max_bytes"`
	// Charged is the peak of the memory that counts against the limit, including page cache and
	// kernel memory; 0: the backend has no control group of its own.
	Charged uint64 `json:"charged_max_bytes,omitempty"`
	// ThrottledMS is the time for which a CPU quota throttled the container, in milliseconds.
	ThrottledMS float64 `json:"throttled_ms,omitempty"`
}
