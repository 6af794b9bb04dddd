package lab

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// Options configures a run.
type Options struct {
	Cluster cluster.Cluster
	Kind    string   // of the cluster: local or kubernetes
	Self    []string // command line of this program, which also runs callers and infrastructure
	// Remote says that callers cannot reach this machine: proxies, control planes and
	// gateways run in the cluster.
	Remote bool
	// MissingPrograms says why the image of the cluster has no programs of a language, by language, or no proxy, by its
	// name. Arms that need them do not run.
	MissingPrograms map[string]string
	// Store stores every trial as soon as it is measured; nil: nothing is stored.
	Store *result.Store
	// Progress is called before and after every trial and once a second during its load, by
	// one goroutine at a time; may be nil.
	Progress func(Progress)
	// Phases is called after every phase of the run, by the goroutine that calls Progress or while none does; may
	// be nil.
	Phases func(Phase)
	// Command is the command line that repeats the run; empty: not known.
	Command string
	// ID is the ID of the run; empty: a new ID.
	ID string
	// Kubernetes is the version of Kubernetes; empty: the cluster is local.
	Kubernetes string
	Nodes      []result.Node // of the cluster; none: rpclab may not list them
	MaxFiles   uint64        // limit of open files of a process
	FreeMemory uint64        // of this machine, in bytes; 0: not known
	// Settled reports whether a run until decided may end, or leave a cell whose arms take turns; nil: when its headline
	// verdicts are decided. Without arms, those of all cells are meant.
	Settled func(d result.Document, cell result.Cell, arms []string) bool
	// Conditions adds what assertions and gates have shown to the result of a complete run, before it is stored; may be nil.
	// A run is complete if only arms that cannot run are missing.
	Conditions func(result.Document) result.Document
	// OtherRuns returns the other runs of rpclab that use this machine now; nil: not known.
	OtherRuns func() []running.Run
	// FindTool returns the path of a route's program; nil: [tool.Tool.Find].
	FindTool func(tool.Tool) (string, error)
	// Processors reads the processors' counters; nil: [measure.ReadProcessorTimes].
	Processors func() measure.ProcessorTimes
}

// Progress describes the progress of a run.
type Progress struct {
	Trial   experiment.Trial
	Planned int           // number of trials
	Ended   *result.Trial // nil: the trial starts, or is in progress
	Doing   string        // the step of the trial that starts; empty: the trial itself
	Live    *Live         // of the load in progress; nil: no load, or not for a second so far
	Event   *result.Event // that rpclab has just performed; nil: none
	Began   time.Time     // of the run
	Left    time.Duration // estimate of the time until the run ends; 0: not known
}

// The phases of a run. Those of arms that are up at the same time overlap.
const (
	PhasePrepare      = "prepare" // check the machine, and build programs in other languages
	PhaseStartServers = "start servers"
	PhaseStartCallers = "start callers" // and the infrastructure: proxies, control planes and gateways
	PhaseWarmUp       = "warm up"
	PhaseSettle       = "warm up until steady"
	PhaseRehearse     = "rehearse" // a block of a load that is not measured
	PhaseLoad         = "load"     // a load, a block of it, or a probe of a search
	PhaseEvent        = "event"
	PhaseStopCallers  = "stop callers" // and the infrastructure
	PhaseStopServers  = "stop servers"
	PhaseSelfTest     = "measure the load generator"
)

// Phase is a phase that has ended.
type Phase struct {
	Name         string
	Trial        experiment.Trial // that the phase is part of; without an arm: the whole run
	Event        *result.Event    // of PhaseEvent; else nil
	Began, Ended time.Time
	Err          error // why it failed; nil: it did not
}

// Live describes the last second of the load in progress, of all callers.
type Live struct {
	Arm      string        // that made the load; while arms take turns, the trial of the progress is of all arms
	Load     int           // of the arm's callers, from 1
	Elapsed  time.Duration // of the load
	Rate     float64       // calls that ended per second
	P50, P99 time.Duration // of their latency; 0: no call was answered
	Late     time.Duration // the 99th percentile of their lateness
	InFlight uint64        // calls now
	Failed   uint64        // calls that failed or were dropped since the load started
	// Backends counts the calls that each backend answered. Errors counts the calls that
	// failed, by code. Dropped counts the calls that were due and not made.
	Backends, Errors map[string]uint64
	Dropped          uint64
	Latency          *hdr.PackedHistogram // of the answered calls, in nanoseconds; nil: not known
}
