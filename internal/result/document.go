// Package result is the document that a run leaves behind: everything that was
// asked, measured and concluded. Every report is drawn from it alone.
package result

import (
	"time"
)

// Schema names the form of a [Document]; readers refuse another one.
const Schema = "rpclab.result/v1"

// Document is one run. Durations are in milliseconds and times in UTC unless a
// field's name says otherwise.
type Document struct {
	Schema     string     `json:"schema"`
	ID         string     `json:"id"`
	Experiment string     `json:"experiment"`
	Question   string     `json:"question"`
	Source     string     `json:"source,omitempty"`
	Cluster    string     `json:"cluster" enum:"local,kubernetes"`
	Started    time.Time  `json:"started"`
	Finished   *time.Time `json:"finished,omitempty"`
	// Partial is true while trials are missing: the run is in progress, or ended early.
	Partial bool    `json:"partial,omitempty"`
	Machine Machine `json:"machine"`
	Rounds  int     `json:"rounds"`
	// Margin is the difference that is not worth a call, as a share; 0: 0.03.
	Margin float64 `json:"margin,omitempty"`
	Seed   uint64  `json:"seed"`
	// Looks are the numbers of rounds after which a run with --until decided
	// looked, or would have, at its verdicts; none: its rounds were fixed.
	Looks []int `json:"looks,omitempty"`
	Quick bool  `json:"quick,omitempty"`
	// Definition is the experiment as it was written, in YAML, and Command the command line
	// that makes such a run again; empty: not recorded.
	Definition string `json:"definition,omitempty"`
	Command    string `json:"command,omitempty"`
	Baseline   string `json:"baseline"` // the arm that the others are compared with
	// Changed are the settings, path=value, in which the run differs from the
	// experiment as written: those of --set and --quick, rounds and sweep left out.
	Changed   []string    `json:"changed,omitempty"`
	Warnings  []string    `json:"warnings"`
	Arms      []Arm       `json:"arms"` // one for each arm in each cell
	Verdicts  []Verdict   `json:"verdicts"`
	Events    []Event     `json:"events"`
	Confounds []Confound  `json:"confounds,omitempty"`
	Accounts  []Account   `json:"accounts,omitempty"` // of the confounds
	Published []Published `json:"published_figures,omitempty"`
	// Size is what the study's figures are of, where the run made less; empty: of the same.
	Size       string `json:"published_size,omitempty"`
	TrialCount int    `json:"trials_planned"`
}

// Machine is where the run took place.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory_bytes,omitempty"`
	Model  string `json:"cpu_model,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	Go     string `json:"go"`
	Rpclab string `json:"rpclab,omitempty"` // the version that made the run; empty: not known
	// Tools are the versions of the programs of others that took part, by name: envoy.
	Tools    map[string]string `json:"tools,omitempty"`
	MaxFiles uint64            `json:"max_files,omitempty"`
	// Kubernetes is the version of the cluster on which backends and callers ran; the rest
	// is of the machine that conducted. Empty: they ran here.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Nodes are those of that cluster; none: they may not be seen.
	Nodes []Node `json:"nodes,omitempty"`
	// ClockNS is the smallest step of the clock that was seen, in nanoseconds.
	ClockNS float64 `json:"clock_ns,omitempty"`
}

// Cell is one point of the sweep: field path to value. Empty without a sweep.
type Cell map[string]any

// Measures are what one trial, or all trials of an arm together, gave.
type Measures struct {
	Calls   uint64            `json:"calls"` // answered, well or badly
	Errors  map[string]uint64 `json:"errors"`
	Late    uint64            `json:"late"`    // answered, but later than caller.late after they were due
	Dropped uint64            `json:"dropped"` // due, but over the in-flight bound
	// Wasted is how many calls backends began and nobody got the answer of: failed, given
	// up, tried again, hedged. It leaves out backends that were killed or paused, which
	// cannot be asked; nil: nobody asked.
	Wasted *uint64 `json:"wasted,omitempty"`
	Rate   float64 `json:"rate"` // calls/s from the first due to the last answer
	// ElapsedMS runs from the start of the load to the last answer (an arm: the median trial).
	ElapsedMS float64   `json:"elapsed_ms"`
	Latency   Histogram `json:"latency_ms"`
	Service   Histogram `json:"service_ms"`
	Lateness  Histogram `json:"lateness_ms"`
	// Messages is of the messages that came on streams, each from when the one that it
	// answers was sent; nil: calls were not streams.
	Messages  *Histogram        `json:"message_ms,omitempty"`
	Backends  map[string]uint64 `json:"backends"` // every ready backend, those without a call too
	Balance   Balance           `json:"balance"`
	Resources Resources         `json:"resources"`
	// Samples are the first messages of each error code.
	Samples map[string]string `json:"error_samples,omitempty"`
}

// Failed is how many calls failed, whatever the code.
func (m Measures) Failed() (n uint64) {
	for _, calls := range m.Errors {
		n += calls
	}
	return n
}

// Answered is how many calls a second were answered well; calls that fail at once make any
// rate look well.
func (m Measures) Answered() float64 {
	return m.Rate * (1 - float64(m.Failed())/float64(max(m.Calls, 1)))
}

// Lost is the share of the calls due that brought no answer: failed or dropped.
func (m Measures) Lost() float64 {
	return float64(m.Failed()+m.Dropped) / float64(max(m.Calls+m.Dropped, 1))
}

// Arm is one arm in one cell, its trials merged.
//
// Backends is summed by identity. Balance is not taken from that sum but trial by
// trial and then pooled, since every trial draws its connections anew.
type Arm struct {
	Name      string         `json:"name"`
	Published bool           `json:"published"`          // as the study did it
	Label     string         `json:"label,omitempty"`    // the study's own name for it
	Control   string         `json:"control,omitempty"`  // the arm that this one repeats (A/A)
	Against   string         `json:"against,omitempty"`  // the arm that this one is compared with; empty: the baseline
	Describe  string         `json:"describe,omitempty"` // one clause on how calls travel
	Route     string         `json:"route"`
	Channel   string         `json:"channel"`
	Policy    string         `json:"policy,omitempty"` // how the route spreads calls: round_robin; empty: there is nothing to choose
	Cell      Cell           `json:"cell"`
	Config    map[string]any `json:"config"`
	// PickedBy is who picks the backend: client or proxy for each call, kernel for each
	// connection, nobody. Discovery is how the client learns of new backends: dns, watch, xds;
	// empty: it does not. Update is one clause on how a change reaches who picks, and how late.
	PickedBy  string `json:"picked_by,omitempty"`
	Discovery string `json:"discovery,omitempty"`
	Update    string `json:"update,omitempty"`
	// Limited says how the generator itself bounded these numbers; empty: it did not.
	Limited string `json:"limited,omitempty"`
	// Capacity is that of searches; nil: the load was none. The measures are those at
	// the rates that held.
	Capacity *Capacities `json:"capacity,omitempty"`
	// Bound is what its users and threads allow at most; nil: there is nothing to say.
	Bound *Bound `json:"bound,omitempty"`
	Measures
	// Files are the configuration files that were made for the route's parts, by name, as
	// they were in the first trial.
	Files  map[string]string `json:"files,omitempty"`
	Trials []Trial           `json:"trials"`
}

// Trial is one arm, in one cell, in one round.
type Trial struct {
	Round   int       `json:"round"` // from 1
	Order   int       `json:"order"` // place in the run, from 0
	Started time.Time `json:"started"`
	Failed  string    `json:"failed,omitempty"` // why the trial gave no measurement
	Limited string    `json:"limited,omitempty"`
	// Limits says what kept the servers to server.cpus and server.memory: cgroup v1, cgroup v2,
	// or pinned (to processors, and by their runtimes); empty: they have none, or the cluster
	// keeps them.
	Limits string `json:"limits,omitempty"`
	// Memory is that of the servers over time; nil: nobody looked.
	Memory *Memory `json:"memory,omitempty"`
	// Capacity is what a search found, whose measures are those of the full-length probe
	// at the rate that held; nil: the load was no search.
	Capacity *Capacity `json:"capacity,omitempty"`
	Measures
	// Machine is what the machine did beside the trial; nil: it was not looked at.
	Machine *Interference `json:"machine,omitempty"`
	// Callers are those that shared the load, whose sums the measures are; none: there was
	// one.
	Callers []Caller `json:"callers,omitempty"`
	// ProxyConnections is how many connections of callers each worker of the proxies took;
	// none: there is no proxy, or it does not say.
	ProxyConnections []uint64 `json:"proxy_connections,omitempty"`
	// Servers is what each backend used in this trial.
	Servers map[string]ServerUsage `json:"servers,omitempty"`
	// Unknown says what of the trial could not be measured, and why.
	Unknown string `json:"unknown,omitempty"`
	// Files are those of the arm, in the first trial of a run that is not over.
	Files map[string]string `json:"files,omitempty"`
	// Lost says which backends exited unexpectedly, or could not start, and why.
	Lost     []string  `json:"lost,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
	Events   []Event   `json:"events,omitempty"`
	// Groups are counts of calls per ready backend that belong together, from which
	// the balance is taken: one group, or one for each second in which the set of
	// ready backends stayed as it was.
	Groups [][]uint64 `json:"groups,omitempty"`
}

// Timeline counts what ended in each interval of a trial.
type Timeline struct {
	IntervalMS int64               `json:"interval_ms"`
	Backends   map[string][]uint64 `json:"backends"` // answered calls
	Errors     []uint64            `json:"errors"`   // failed calls
	Late       []uint64            `json:"late"`     // answered calls that were late
	// Ready is how many backends were ready at the start of each interval.
	Ready []int `json:"ready"`
}

// Histogram is a distribution in milliseconds. HDR is the standard compressed V2
// encoding (base64) of the same values in nanoseconds: merge that, never percentiles.
type Histogram struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	HDR  string  `json:"hdr"`
}

// Balance says how evenly calls fell on the ready backends.
type Balance struct {
	// Jain is Jain's fairness index, 1/n (one backend got all) to 1 (even).
	Jain float64 `json:"jain"`
	// MaxOverMean is the busiest backend's share over a fair share, 1 to n.
	MaxOverMean float64 `json:"max_over_mean"`
	// PRandom is the two-sided p-value of "each call went to a random backend".
	PRandom float64 `json:"p_random"`
	// Pattern names how calls fell: one-takes-all, uneven, as-chance, takes-turns or
	// too-few-calls (to tell).
	Pattern string `json:"pattern,omitempty"`
}

// Resources of the parties; a party that is not there stays zero.
type Resources struct {
	Client Usage `json:"client"` // all callers together: CPU and the peaks of memory are sums
	Server Usage `json:"server"` // CPU summed over all servers, memory of the largest
	Proxy  Usage `json:"proxy"`
	// Gateway makes the calls for callers by HTTP.
	Gateway Usage `json:"gateway"`
	// Control tells clients or proxies where backends are: its work is a change's, not a call's.
	Control Usage `json:"control"`
}

// Usage is CPU time per call and the peak of resident memory in one trial.
type Usage struct {
	CPU float64 `json:"cpu_us_per_call"`
	RSS uint64  `json:"rss_max_bytes"`
	// ThrottledMS is how long, in milliseconds, the parties' containers waited because their
	// quotas of CPU were used up: the sum over containers, their processors and, of an arm,
	// its trials. 0: they did not, or had none.
	ThrottledMS float64 `json:"throttled_ms,omitempty"`
}

// ServerUsage is what one backend used in one trial.
type ServerUsage struct {
	CPUMS float64 `json:"cpu_ms"` // user and system time
	RSS   uint64  `json:"rss_max_bytes"`
	// Charged is the peak of what counted against its memory limit: page cache and the kernel's
	// memory for it, too; 0: it has no control group of its own.
	Charged uint64 `json:"charged_max_bytes,omitempty"`
	// ThrottledMS is how long its container waited for its quota of CPU, in milliseconds.
	ThrottledMS float64 `json:"throttled_ms,omitempty"`
}
