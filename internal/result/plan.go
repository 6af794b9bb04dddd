package result

import "cmp"

// PlanSchema is the version of the JSON form of a [Plan].
const PlanSchema = "rpclab.plan/v1"

// Plan is what `rpclab run --plan` says about a run before it starts.
type Plan struct {
	Schema     string   `json:"schema"`
	Experiment string   `json:"experiment"`
	Question   string   `json:"question"`
	Command    string   `json:"command"` // that runs it
	Pilot      string   `json:"pilot"`   // the command of a short run that measures its noise; empty: its trials have too few calls
	Design     string   `json:"design"`
	On         string   `json:"on"` // the cluster: local or kubernetes
	Arms       []string `json:"arms"`
	Cells      int      `json:"cells"`
	// Fewest is the run up to the first look at its verdicts, and Most the run up to its end. They are equal if
	// the number of rounds is fixed.
	Fewest      PlannedRun `json:"fewest"`
	Most        PlannedRun `json:"most"`
	TimeLimitMS int64      `json:"time_limit_ms,omitempty"` // 0: none
	// Loads are its loads, by arm and cell.
	Loads []LoadTime `json:"-"`
	// Pairs is the number of pairs of arms, in all cells, that answer the question and share the error of the run.
	Pairs int `json:"pairs"`
	// Looks are the numbers of rounds after which the run examines its verdicts; empty: the number is fixed.
	Looks  []int   `json:"looks,omitempty"`
	Margin float64 `json:"margin"` // the largest difference that counts as none, as a share
	// Headline are the metrics that answer the question, as the experiment names them; empty: it names none. Those of
	// ByRank are compared by the order of their trials, whatever the noise is.
	Headline []string `json:"headline,omitempty"`
	ByRank   []string `json:"by_rank,omitempty"`
	// TooFewCalls are the headline metrics that have no verdict at any number of rounds: a trial has fewer calls than their
	// percentile needs.
	TooFewCalls []string `json:"too_few_calls,omitempty"`
	// RoundsForVerdict is the smallest number of rounds with which verdicts are possible.
	RoundsForVerdict int `json:"rounds_for_verdict"`
	// From are the IDs of the earlier runs on this machine from which times, differences and memory are
	// estimated; empty: none.
	From []string `json:"from"`
	// PilotMS is how long a pilot took, whose noise is used in place of that of runs; 0: there was none.
	PilotMS float64 `json:"pilot_ms,omitempty"`
	// Scaled is true if these runs had another load: with --quick, or without it.
	Scaled bool `json:"scaled,omitempty"`
	// Processes is the approximate number of processes that run at a time: on Kubernetes, of containers. Files is the largest
	// number of files that one of them opens.
	Processes int `json:"processes"`
	Files     int `json:"files"`
	// Tools are the third-party programs that it needs, and Missing those that must be installed on this machine before.
	// Unavailable are those that rpclab cannot install on it: arms that need them do not run. Images contain them, so on
	// Kubernetes none is missing.
	Tools       []string `json:"tools"`
	Missing     []string `json:"missing"`
	Unavailable []string `json:"unavailable,omitempty"`
	// Disrupts are the Services of Kubernetes that run already, whose pods each trial changes; empty: there are none.
	Disrupts []Disrupted `json:"disrupts,omitempty"`
	// Groups are the arms that are up at the same time; nil: all of a cell, or one at a time.
	Groups *Groups `json:"groups,omitempty"`
	// MemoryEstimate is about how much memory the processes use at a time, from their number and kind.
	MemoryEstimate uint64 `json:"memory_estimate_bytes"`
	// Memory is the largest amount that callers, servers and proxies used at a time in the runs of From; nil:
	// not known.
	Memory *uint64 `json:"memory_bytes"`
}

// ShowsNoNoise reports whether no run of the plan measures a noise: all headline metrics are compared by the order of their
// trials, or have too few calls. An experiment that names none has two, p50 and p99.
func (p Plan) ShowsNoNoise() bool {
	none := len(p.ByRank) + len(p.TooFewCalls)
	return none > 0 && none >= cmp.Or(len(p.Headline), 2)
}

// Disrupted is a Service of Kubernetes whose live pods the events of a trial change.
type Disrupted struct {
	Service string `json:"service"` // namespace/name
	Events  string `json:"events"`  // in their order: "scale 4, kill 1, roll"
}

// PlannedRun is a run of a number of rounds.
type PlannedRun struct {
	Rounds int `json:"rounds"`
	Trials int `json:"trials"`
	// TookMS is from what to what the duration is expected; nil: not known. LoadMS is the time that loads take at least.
	TookMS *[2]float64 `json:"took_ms"`
	LoadMS float64     `json:"load_ms"`
	// Tells are the smallest true ratios that 80 % of such runs detect in every pair, by headline metric;
	// empty: not known, or the run has too few rounds for a verdict.
	Tells map[string]float64 `json:"tells"`
	// InOrder is the smallest share of all pairs of a trial of each arm that must have the same order for a verdict on
	// the metrics of [Plan.ByRank]; 0: not known, or the run has too few rounds for a verdict.
	InOrder float64 `json:"in_order,omitempty"`
}
