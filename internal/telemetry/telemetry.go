// Package telemetry sends a run in progress to other programs. Packages otlp and remotewrite do that in their protocols.
package telemetry

import (
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Exporter sends a run in progress to one receiver. Its methods return at once, except End. Show and Phase have the
// arguments of [lab.Options].
type Exporter interface {
	Show(lab.Progress)
	Phase(lab.Phase)
	// End sends the end of the run, and what was not sent so far. It returns within seconds. The error says what the
	// receiver did not accept.
	End(result.Document, error) error
}

// Run is what is known of a run from its start.
type Run struct {
	ID      string
	Plan    experiment.Plan
	Version string // of rpclab
}
