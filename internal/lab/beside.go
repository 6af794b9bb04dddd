package lab

import (
	"os"
	"time"

	"rpclab/internal/cluster"
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

// since is what others had of the processors after an earlier look, in which caller
// and servers used so much; nil where the system does not tell.
func (l look) since(earlier look, used time.Duration) *result.Beside {
	p := l.processors.Since(earlier.processors)
	all := p.Busy + p.Idle + p.Stolen
	if all <= 0 {
		return nil
	}
	own := used + l.lab - earlier.lab
	return &result.Beside{
		Stolen: p.StolenShare(), Throttled: share(p.Throttled, p.Throttled+own), Others: new(share(p.Busy-own, all)),
	}
}

// overNodes is what others had of the processors of many machines, by what callers, backends
// and what stands between say of their own: of what was stolen the largest share. A quota
// that the experiment gives its backends is no other's.
func overNodes(callers measure.Measurement, backends map[string]cluster.Usage, limited bool, between ...cluster.Usage) *result.Beside {
	b := &result.Beside{Stolen: callers.Stolen}
	waited, had := callers.Throttled, callers.CPU
	for _, u := range backends {
		b.Stolen = max(b.Stolen, u.Stolen)
		if !limited {
			waited, had = waited+u.Throttled, had+u.CPU
		}
	}
	for _, u := range between {
		b.Stolen = max(b.Stolen, u.Stolen)
		waited, had = waited+u.Throttled, had+u.CPU
	}
	b.Throttled = share(waited, waited+had)
	return b
}

// share is how much of the whole a part is, from 0 on.
func share(part, whole time.Duration) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return part.Seconds() / whole.Seconds()
}
