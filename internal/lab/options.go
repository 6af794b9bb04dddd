package lab

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// Options are what a run needs besides its plan.
type Options struct {
	Cluster cluster.Cluster
	Kind    string   // of the cluster: local or kubernetes
	Self    []string // command line of this program, whose commands run callers and infrastructure
	// Remote says that callers cannot reach this machine: proxies, control planes and
	// gateways run in the cluster.
	Remote bool
	// Store keeps every trial as soon as it is measured; nil: nothing is kept.
	Store *result.Store
	// Progress is called before and after every trial and once a second during its load, by
	// one goroutine at a time; may be nil.
	Progress func(Progress)
	// Command is the command line that repeats the run, for the record; empty: not known.
	Command string
	// ID is the run's; empty: a new one.
	ID string
	// Kubernetes is the version of that cluster; empty: the cluster is local.
	Kubernetes string
	Nodes      []result.Node // of that cluster; none: rpclab may not list them
	MaxFiles   uint64        // open files that one process may have
	// Processors reads the processors' counters; nil: [measure.ReadProcessorTimes].
	Processors func() measure.ProcessorTimes
}

// Progress is how far a run is.
type Progress struct {
	Trial   experiment.Trial
	Planned int           // trials in all
	Ended   *result.Trial // nil: the trial starts now, or is in progress
	Doing   string        // the step of the trial that starts now; empty: the whole trial
	Live    *Live         // of the load in progress; nil: there is none, or not for a second yet
	Event   *result.Event // that was just performed; nil: none
	Began   time.Time     // of the run
	Left    time.Duration // estimate of the time that the rest of the run takes; 0: not known yet
}

// Live is what the calls of the load in progress did in the last second, all callers
// together.
type Live struct {
	Elapsed  time.Duration // of the load
	Rate     float64       // calls that ended per second
	P50, P99 time.Duration // of their latency; 0: none was answered
	Failed   uint64        // calls that failed or were dropped since the load began
	// Backends counts the calls that each backend answered, Errors those that failed by code,
	// and Dropped those that were due and not made.
	Backends, Errors map[string]uint64
	Dropped          uint64
	Latency          *hdr.Histogram // of the calls answered, in nanoseconds; nil: not known
}
