package lab

import (
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route/settings"
)

// Each caller of a trial is a process of its own, so that its CPU time, memory and garbage
// collection are its own. The lab calls these methods of `rpclab caller`. During a load the caller
// sends a [measure.Snapshot] once a second as an event.
const (
	// openMethod warms the caller up for an assignment.
	openMethod = stdio.Method[assignment, stdio.None]("open")
	// clockMethod returns the time of the caller's clock.
	clockMethod = stdio.Method[stdio.None, time.Time]("clock")
	// steadyMethod makes a load that is not measured, and sends snapshots, until the lab finishes it.
	steadyMethod = stdio.Method[steadyRequest, stdio.None]("steady")
	// loadMethod makes a load and returns what was measured until it ended, or until the lab finished it.
	loadMethod = stdio.Method[loadRequest, measure.Measurement]("load")
)

// assignment is what a caller calls, and how.
type assignment struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Caller   string            `json:"caller"`
	Job      caller.Job        `json:"job"`
	Warmup   int               `json:"warmup"`
	// EachBackend says that the caller balances calls over all backends, so that the warm-up
	// has to reach each of them.
	EachBackend bool `json:"each_backend,omitempty"`
	// Gateway is the gateway (host:port) that makes the calls on the caller's requests;
	// empty: the caller makes them.
	Gateway string `json:"gateway,omitempty"`
}

// steadyRequest is a warm-up like a load, of at most AtMost.
type steadyRequest struct {
	Pace   pace.Spec     `json:"pace"`
	AtMost time.Duration `json:"at_most"`
}

// loadRequest is the load that a caller shall make.
type loadRequest struct {
	Pace pace.Spec `json:"pace"`
	// At is when the load starts, by the caller's clock; zero: now.
	At time.Time `json:"at,omitzero"`
	// Calls in flight after Limit are cancelled; 0: no call is cancelled.
	Limit time.Duration `json:"limit,omitempty"`
	Watch bool          `json:"watch,omitempty"` // send snapshots
}
