package measure

import (
	"runtime"
	"time"
)

// Processors is what the machine's processors did since it was started, all of them
// added up. What the system does not tell is 0.
type Processors struct {
	Busy, Idle time.Duration
	Stolen     time.Duration // the hypervisor gave it to other machines
	// Throttled is how long the processes of this process's control groups had to wait
	// because a group had used up its quota.
	Throttled time.Duration
}

// leastStolen is what has to be gone before it says anything of neighbours: a short
// trial, which wakes up all the time, makes a third of a processor out of late wake-ups.
const leastStolen = 500 * time.Millisecond

// StolenShare is what a hypervisor took in a span of time, as a share (0 to 1) of what all
// processes wanted. It counts every wake-up from sleep as a little stolen: of next to
// nothing wanted that would be most, so it is a share of one processor at the least.
func (p Processors) StolenShare() float64 {
	all := p.Busy + p.Idle + p.Stolen
	wanted := max(p.Stolen+p.Busy, all/time.Duration(runtime.NumCPU()))
	if p.Stolen < leastStolen || wanted <= 0 {
		return 0
	}
	return p.Stolen.Seconds() / wanted.Seconds()
}

// Since is what they did after an earlier look.
func (p Processors) Since(earlier Processors) Processors {
	return Processors{
		Busy: p.Busy - earlier.Busy, Idle: p.Idle - earlier.Idle,
		Stolen: p.Stolen - earlier.Stolen, Throttled: p.Throttled - earlier.Throttled,
	}
}
