package lab

import (
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/route/settings"
)

// Each caller of a trial is a process of its own, so that its CPU time, memory and garbage
// collection are its own. The lab and `rpclab caller` exchange JSON, one value a line: the lab
// sends the assignment and is answered "ready" once the caller is warm; it then sends load
// orders, each of which is answered with the time or, after snapshots, the measurement.

// assignment is what a caller is to do.
type assignment struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Caller   string            `json:"caller"`
	Job      caller.Job        `json:"job"`
	Warmup   int               `json:"warmup"`
	// Gateway is the gateway (host:port) that makes the calls on the caller's requests;
	// empty: the caller makes them.
	Gateway string `json:"gateway,omitempty"`
}

// loadOrder is a load to make, or the question what time it is.
type loadOrder struct {
	Clock bool      `json:"clock,omitempty"` // report the time, and no more
	Pace  pace.Spec `json:"pace"`
	// At is when the load starts, by the caller's clock; zero: now.
	At time.Time `json:"at,omitzero"`
	// Calls in flight after Limit are cancelled; 0: none is.
	Limit time.Duration `json:"limit,omitempty"`
	Watch bool          `json:"watch,omitempty"` // report snapshots
}

// callerReport has one field set.
type callerReport struct {
	Ready       bool                 `json:"ready,omitempty"`
	Clock       time.Time            `json:"clock,omitzero"`
	Snapshot    *measure.Snapshot    `json:"snapshot,omitempty"`
	Measurement *measure.Measurement `json:"measurement,omitempty"`
	Error       string               `json:"error,omitempty"`
}
