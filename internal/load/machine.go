package load

import (
	"slices"

	"rpclab/internal/analysis"
	"rpclab/internal/result"
)

// Name returns the name of the target.
func (l *Load) Name() string { return l.name() }

// watchMachine records which other runs use this machine. The returned function ends that and returns
// the warnings.
func (l *Load) watchMachine() (end func() []result.MachineWarning) {
	if l.OtherRuns == nil {
		return func() []result.MachineWarning { return nil }
	}
	all := l.OtherRuns()
	return func() []result.MachineWarning {
		for _, run := range l.OtherRuns() {
			if !slices.Contains(all, run) {
				all = append(all, run)
			}
		}
		return analysis.Shared(all)
	}
}

// addMachineWarnings adds warnings about the machine to a load's document.
func addMachineWarnings(d result.Document, all []result.MachineWarning) result.Document {
	for i := range d.Arms {
		for j := range d.Arms[i].Trials {
			d.Arms[i].Trials[j].MachineWarnings = all
		}
	}
	d.MachineWarnings = analysis.MachineWarnings(d)
	for _, w := range d.MachineWarnings {
		d.Warnings = append(d.Warnings, w.Text)
	}
	return d
}
