package load

import (
	"slices"

	"rpclab/internal/analysis"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
)

// Name returns the name of the target.
func (l *Load) Name() string { return l.name() }

// Question is the question of the result: the method and the load.
func (l *Load) Question() string { return l.method + ": " + l.describe() }

// Rounds is how often the load is made.
func (l *Load) Rounds() int { return l.settings.rounds() }

// watchMachine notices other runs that use this machine, and that this process is stopped or the clock
// jumps. The returned function ends that and returns the warnings.
func (l *Load) watchMachine() (end func() []result.MachineWarning) {
	otherRuns := l.OtherRuns
	if otherRuns == nil {
		otherRuns = func() []running.Run { return nil }
	}
	all := otherRuns()
	endHeartbeat := measure.Heartbeat(func() []measure.Watched { return nil })
	return func() []result.MachineWarning {
		for _, run := range otherRuns() {
			if !slices.Contains(all, run) {
				all = append(all, run)
			}
		}
		return append(analysis.Shared(all), analysis.Stalls(endHeartbeat())...)
	}
}

// addMachineWarnings adds the warnings of all rounds about the machine to a load's document.
func addMachineWarnings(d result.Document) result.Document {
	d.MachineWarnings = analysis.MachineWarnings(d)
	for _, w := range d.MachineWarnings {
		d.Warnings = append(d.Warnings, w.Text)
	}
	return d
}
