package local

import (
	"errors"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// usage adds up what backends that have ended used since ResetUsage.
type usage struct {
	cpu    time.Duration
	maxRSS uint64
}

// ended takes a backend whose process is gone.
func (u *usage) ended(r *replica) {
	u.cpu += r.process.CPU() - r.baseline
	u.maxRSS = max(u.maxRSS, r.peak)
}

// ResetUsage starts a new measurement.
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usage = usage{}
	var errs []error
	for _, r := range d.replicas {
		cpu, err := measure.CPU(r.process.Pid())
		r.baseline = cpu
		errs = append(errs, err, measure.ResetMaxRSS(r.process.Pid()))
	}
	return errors.Join(errs...)
}

// Usage is what the backends, those that ended too, used since ResetUsage.
func (d *deployment) Usage() cluster.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := cluster.Usage{CPU: d.usage.cpu, MaxRSS: d.usage.maxRSS}
	for _, r := range d.replicas {
		cpu, err := measure.CPU(r.process.Pid())
		if err != nil {
			continue // it is ending in this moment: bury counts it
		}
		total.CPU += cpu - r.baseline
		r.sampleMemory()
		total.MaxRSS = max(total.MaxRSS, r.peak)
	}
	return total
}
