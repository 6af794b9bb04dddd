package analysis

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// MachineInterference is the share of this machine's CPU time that other programs and machines took
// during a load, by the processor times and the CPU time of this process; nil: not known.
func (r Record) MachineInterference(processors measure.ProcessorTimes, lab time.Duration) *result.Interference {
	used := r.Merged.CPU + total(r.Servers).CPU + r.Proxies.CPU + r.Gateways.CPU + r.ControlPlane.CPU
	return interference(processors, lab+used)
}

// RoundInterference is the same of a round whose arms took turns; own is the CPU time of all arms and of this
// process.
func RoundInterference(processors measure.ProcessorTimes, own time.Duration) *result.Interference {
	return interference(processors, own)
}

// interference is the share of the processor times that others took; rpclab used own.
func interference(p measure.ProcessorTimes, own time.Duration) *result.Interference {
	all := p.Busy + p.Idle + p.Stolen
	if all <= 0 {
		return nil
	}
	return &result.Interference{
		Stolen: p.StolenShare(), Throttled: share(p.Throttled, p.Throttled+own), Others: new(share(p.Busy-p.Interrupts-own, all)),
	}
}

// NodeInterference is the share of CPU time that others took on a cluster's nodes, as callers, backends
// and infrastructure report of their containers; of stolen time, the largest share. A CPU limit that
// the experiment sets for its backends is no interference.
func (r Record) NodeInterference() *result.Interference {
	b := &result.Interference{Stolen: r.Merged.Stolen}
	waited, had := r.Merged.Throttled, r.Merged.CPU
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

// share is part over whole; 0 if either is 0.
func share(part, whole time.Duration) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return part.Seconds() / whole.Seconds()
}
