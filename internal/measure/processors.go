package measure

import "time"

// Processors is what the machine's processors did since it was started, all of them
// added up. What the system does not tell is 0.
type Processors struct {
	Busy, Idle time.Duration
	Stolen     time.Duration // the hypervisor gave it to other machines
	// Throttled is how long the processes of this process's control groups had to wait
	// because a group had used up its quota.
	Throttled time.Duration
}

// Since is what they did after an earlier look.
func (p Processors) Since(earlier Processors) Processors {
	return Processors{
		Busy: p.Busy - earlier.Busy, Idle: p.Idle - earlier.Idle,
		Stolen: p.Stolen - earlier.Stolen, Throttled: p.Throttled - earlier.Throttled,
	}
}
