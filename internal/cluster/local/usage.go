package local

import (
	"errors"
	"maps"
	"slices"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// books are what is remembered of backends since ResetUsage.
type books struct {
	ended  map[string]cluster.Usage
	served map[string]uint64 // by those that ended
	losses []string
}

func newBooks() books {
	return books{ended: map[string]cluster.Usage{}, served: map[string]uint64{}}
}

// ResetUsage starts new books.
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.books = newBooks()
	var errs []error
	for _, r := range d.replicas {
		_, err := measure.CPU(r.process.Pid())
		errs = append(errs, err)
		r.baseline, _ = measure.Used(r.process.Pid())
		r.began, r.counted = r.count()
		measure.ForgetPeaks(r.process.Pid())
		r.limits.group.ForgetPeak()
		r.waited = r.limits.group.Look().Throttled
	}
	return errors.Join(errs...)
}

// Usage is what each backend, those that ended too, used since ResetUsage.
func (d *deployment) Usage() map[string]cluster.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := map[string]cluster.Usage{}
	maps.Copy(used, d.books.ended)
	for _, r := range d.replicas {
		cpu, peak := measure.Used(r.process.Pid())
		if peak == 0 { // it ended in this moment, and is not buried yet
			<-r.process.Done()
			cpu = r.process.CPU()
		} else {
			r.peak = peak
		}
		used[r.id] = r.within(cluster.Usage{CPU: cpu - r.baseline, MaxRSS: r.peak})
	}
	return used
}

// within adds to what a backend used what its limits made of it.
func (r *replica) within(used cluster.Usage) cluster.Usage {
	seen := r.limits.group.Look()
	used.Throttled, used.Charged = seen.Throttled-r.waited, seen.Charged
	return used
}

// Memory implements [cluster.Bounded].
func (d *deployment) Memory() (resident uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.replicas {
		resident += measure.Resident(r.process.Pid())
	}
	return resident
}

// Served is how many calls each backend began since ResetUsage, of those that can say so.
func (d *deployment) Served() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	served := maps.Clone(d.books.served)
	for _, r := range d.replicas {
		if calls, ok := r.count(); ok && r.counted {
			served[r.id] = calls - r.began
		}
	}
	return served
}

// Losses are the backends that ended unasked.
func (d *deployment) Losses() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	losses := slices.Clone(d.books.losses)
	for _, r := range d.replicas { // a child of it may have been killed while it lives on
		if why := r.limits.killed(r.id); why != "" && !r.retired() {
			losses = append(losses, why)
		}
	}
	return losses
}
