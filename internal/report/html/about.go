package html

import (
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// run is what a reader needs to make the run again.
type run struct {
	ID, Experiment, Started, Machine, Version, Command, Definition string
}

func about(d result.Document) run {
	return run{ID: report.Clean(d.ID), Experiment: report.Clean(d.Experiment), Started: d.Started.UTC().Format("2006-01-02 15:04 UTC"),
		Machine: report.Machine(d.Machine), Version: report.Clean(d.Machine.Rpclab), Command: d.Command, Definition: d.Definition}
}
