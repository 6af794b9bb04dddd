package analysis

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// MachineInterference returns the shares of this machine's CPU time that other programs and other machines used
// during a load; nil: not known. processors are the processor times of the load, and lab is the CPU time of
// this process.
func (r Record) MachineInterference(processors measure.ProcessorTimes, lab time.Duration) *result.Interference {
	used := r.Merged.CPU + total(r.Servers).CPU + r.Proxies.CPU + r.Gateways.CPU + r.ControlPlane.CPU
	return Interference(processors, lab+used)
}

// Interference returns the shares of the processor times that others, and all, used; nil: not known. own is the CPU time
// of rpclab and of all that it measures.
func Interference(p measure.ProcessorTimes, own time.Duration) *result.Interference {
	all := p.Busy + p.Idle + p.Stolen
	if all <= 0 {
		return nil
	}
	return &result.Interference{
		Stolen: p.StolenShare(), Throttled: share(p.Throttled, p.Throttled+own), Others: new(share(p.Busy-p.Interrupts-own, all)), Busy: new(share(p.Busy, all)),
	}
}

// NodeInterference returns the shares of CPU time that others used on a cluster's nodes, as the containers of
// callers, backends and infrastructure report them. Stolen is the largest share of any container. Throttling by
// a CPU limit that the experiment sets for its backends does not count.
func (r Record) NodeInterference() *result.Interference {
	b := &result.Interference{Stolen: r.Merged.Stolen}
	waited, had := r.Merged.Throttled, r.Merged.CPU
	for _, u := range r.Servers {
		b.Stolen = max(b.Stolen, u.Stolen)
		if r.Config.Server.CPUs == 0 && r.Config.Service == "" { // throttling of a user's servers in pods is not known
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

// share returns part divided by whole, and 0 if either is 0.
func share(part, whole time.Duration) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return part.Seconds() / whole.Seconds()
}
