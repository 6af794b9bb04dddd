package load

import (
	"net/netip"
	"os"
	"slices"
	"time"

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

// minMachineTime is the length of the shortest load of which the CPU time of other programs is known: the
// kernel counts the times of processors in steps of 10 ms.
const minMachineTime = 500 * time.Millisecond

// watchProcessors measures the CPU time that other programs use during a round: neither rpclab nor the server,
// if that runs on this machine. The returned function ends that; nil: not known.
func (l *Load) watchProcessors() (end func() *result.Interference) {
	pids, known := l.serverProcesses()
	pids = append(pids, os.Getpid())
	own, err := measure.TreesCPU(pids...)
	processors, began := measure.ReadProcessorTimes(), time.Now()
	return func() *result.Interference {
		passed := measure.ReadProcessorTimes().Since(processors)
		ownNow, errNow := measure.TreesCPU(pids...)
		if !known || err != nil || errNow != nil || time.Since(began) < minMachineTime {
			return nil
		}
		return analysis.Interference(passed, ownNow-own)
	}
}

// serverProcesses returns the processes of this machine that listen on the addresses of the target. known is
// false if one of the addresses is of this machine, and its process is not known.
func (l *Load) serverProcesses() (pids []int, known bool) {
	local, err := localAddresses()
	if err != nil {
		return nil, false
	}
	for _, address := range l.to.addresses {
		to, err := netip.ParseAddrPort(address)
		if err == nil && !to.Addr().IsLoopback() && !slices.Contains(local, to.Addr()) {
			continue
		}
		listeners := measure.Listeners(address)
		if len(listeners) == 0 {
			return nil, false
		}
		pids = append(pids, listeners...)
	}
	return pids, true
}

// addMachineWarnings adds the warnings of all rounds about the machine to a load's document.
func addMachineWarnings(d result.Document) result.Document {
	d.MachineWarnings = analysis.MachineWarnings(d)
	for _, w := range d.MachineWarnings {
		d.Warnings = append(d.Warnings, w.Text)
	}
	return d
}
