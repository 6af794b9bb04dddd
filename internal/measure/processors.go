package measure

import (
	"runtime"
	"time"
)

// ProcessorTimes are the times of all processors since the machine was started, added up. A time that
// the system does not report is 0.
type ProcessorTimes struct {
	Busy, Idle time.Duration
	// Interrupts is the part of Busy spent in interrupts, which belongs to no process. Linux counts
	// received packets there, also those of loopback.
	Interrupts time.Duration
	Stolen     time.Duration // used by other virtual machines of the hypervisor
	// Throttled is how long the processes of this process's control groups waited because a group
	// had used up its CPU quota.
	Throttled time.Duration
}

// minStolen is the least stolen time that says something about other machines. In a short trial late
// wake-ups alone look like a third of a processor.
const minStolen = 500 * time.Millisecond

// StolenShare is the share (0 to 1) of the wanted processor time that a hypervisor took. Each wake-up
// from sleep counts as a little stolen time. The wanted time is therefore at least that of one
// processor.
func (p ProcessorTimes) StolenShare() float64 {
	all := p.Busy + p.Idle + p.Stolen
	wanted := max(p.Stolen+p.Busy, all/time.Duration(runtime.NumCPU()))
	if p.Stolen < minStolen || wanted <= 0 {
		return 0
	}
	return p.Stolen.Seconds() / wanted.Seconds()
}

// Since returns the times that passed after an earlier reading.
func (p ProcessorTimes) Since(earlier ProcessorTimes) ProcessorTimes {
	return ProcessorTimes{
		Busy: p.Busy - earlier.Busy, Idle: p.Idle - earlier.Idle,
		Interrupts: p.Interrupts - earlier.Interrupts,
		Stolen:     p.Stolen - earlier.Stolen, Throttled: p.Throttled - earlier.Throttled,
	}
}
