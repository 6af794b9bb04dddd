package lab

import (
	"os"
	"runtime"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// look is what the processors and this process had done at a moment.
type look struct {
	processors measure.Processors
	lab        time.Duration
}

func (l *lab) lookAround() look {
	own, _ := measure.CPU(os.Getpid()) // unknown is none
	return look{l.Processors(), own}
}

// leastStolen is what has to be gone before it says anything of neighbours: a short
// trial, which wakes up all the time, makes a third of a processor out of late wake-ups.
const leastStolen = 500 * time.Millisecond

// since is what others had of the processors after an earlier look, in which caller
// and servers used so much; nil where the system does not tell.
func (l look) since(earlier look, used time.Duration) *result.Beside {
	p := l.processors.Since(earlier.processors)
	all := p.Busy + p.Idle + p.Stolen
	if all <= 0 {
		return nil
	}
	own := used + l.lab - earlier.lab
	// A hypervisor counts every wake-up from sleep as a little stolen: of next to nothing
	// wanted that would be most, so it is a share of one processor at the least.
	wanted := max(p.Stolen+p.Busy, all/time.Duration(runtime.NumCPU()))
	if p.Stolen < leastStolen {
		p.Stolen = 0
	}
	return &result.Beside{
		Stolen: share(p.Stolen, wanted), Throttled: share(p.Throttled, p.Throttled+own), Others: share(p.Busy-own, all),
	}
}

// share is how much of the whole a part is, from 0 on.
func share(part, whole time.Duration) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return part.Seconds() / whole.Seconds()
}
