package analysis

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// MachineInterference is what other programs and machines took of this machine's processors
// during a load, by what the processors did in that time and the CPU time of this process;
// nil: the system does not say.
func (r Record) MachineInterference(processors measure.ProcessorTimes, lab time.Duration) *result.Interference {
	used := r.Whole.CPU + total(r.Servers).CPU + r.Proxies.CPU + r.Gateways.CPU + r.ControlPlane.CPU
	return interference(processors, lab+used)
}

// interference is what others had of the processors, of which rpclab used so much.
func interference(p measure.ProcessorTimes, own time.Duration) *result.Interference {
	all := p.Busy + p.Idle + p.Stolen
	if all <= 0 {
		return nil
	}
	return &result.Interference{
		Stolen: p.StolenShare(), Throttled: share(p.Throttled, p.Throttled+own), Others: new(share(p.Busy-own, all)),
	}
}

// NodeInterference is what others took of the processors of a cluster's nodes, by what
// callers, backends and infrastructure report of their own containers. Of stolen time it is
// the largest share. A CPU limit that the experiment sets for its backends is no interference.
func (r Record) NodeInterference() *result.Interference {
	b := &result.Interference{Stolen: r.Whole.Stolen}
	waited, had := r.Whole.Throttled, r.Whole.CPU
	for _, u := range r.Servers {
		b.Stolen = max(b.Stolen, u.Stolen)
		if r.Config.Server.CPUs == 0 {
			waited, had = waited+u.Throttled, had+u.CPU
		}
	}
	for _, u := range []cluster.Usage{r.Proxies, r.Gateways, r.ControlPlane} {
		b.Stolen = max(b.Stolen, u.Stolen)
		waited, had = waited+u.Throttled, had+u.CPU
	}
	b.Throttled = share(waited, waited+had)
	return b
}

// share is how much of the whole a part is; 0: there is nothing of either.
func share(part, whole time.Duration) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return part.Seconds() / whole.Seconds()
}
