package measure

import (
	"runtime"
	"time"
)

// ProcessorTimes are the times of all processors since the machine was started, added up. 0: none, or the
// system does not report it.
type ProcessorTimes struct {
	Busy, Idle time.Duration
	// Interrupts is the part of Busy spent in interrupts, which belongs to no process. On Linux it
	// contains the work on received packets, also on those of loopback.
	Interrupts time.Duration
	Stolen     time.Duration // used by other virtual machines of the hypervisor
	// Throttled is how long the processes of this process's control groups waited because a group
	// had used up its CPU quota.
	Throttled time.Duration
}

// minStolen is the smallest steal time that [ProcessorTimes.StolenShare] attributes to other machines.
// Late wake-ups count as steal time too; in a short trial they can be a third of a processor.
const minStolen = 500 * time.Millisecond

// StolenShare is the steal time as a share (0 to 1) of the processor time that processes wanted: busy time
// and steal time. Each wake-up from sleep counts as a little steal time. So that an almost idle machine
// has no large share, the wanted time is at least that of one processor.
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
