package local

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// ResetUsage implements [cluster.Deployment].
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.account = cluster.NewAccounting()
	var all errgroup.Group
	for _, r := range d.replicas {
		all.Go(r.resetUsage)
	}
	return all.Wait()
}

// exitTimeout is how long a process that has no usage may take to exit. Its descendants may keep its output open for a
// second.
const exitTimeout = 5 * time.Second

func (r *replica) resetUsage() error {
	if !r.sample() { // it has just exited, and is not in the account yet
		select {
		case <-r.process.Done():
			r.baseline, r.counted = max(r.process.CPU(), r.cpu), false
			return nil
		case <-time.After(exitTimeout):
			return fmt.Errorf("the CPU time and memory of %s, which runs, cannot be read", r.id)
		}
	}
	r.baseline = r.cpu
	r.began, r.counted = r.count()
	measure.ResetTreeMaxRSS(r.process.Pid())
	r.limits.group.ResetPeak()
	group := r.limits.group.Usage()
	r.throttled, r.oomKills = group.Throttled, group.OOMKills
	return nil
}

// FoundProcesses implements [cluster.FoundProcesses]. It returns none, because Usage includes all that are known.
func (d *deployment) FoundProcesses() (pids []int, known bool) { return nil, d.WhyUsageUnknown() == "" }

// Usage includes backends that exited since ResetUsage.
func (d *deployment) Usage() map[string]cluster.Usage {
	if d.WhyUsageUnknown() != "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	used := map[string]cluster.Usage{}
	maps.Copy(used, d.account.Exited)
	for _, r := range d.replicas {
		if r.sample() {
			used[r.id] = r.withLimits(cluster.Usage{CPU: r.cpu - r.baseline, MaxRSS: r.peak})
		} else { // it has just exited, and is not in the account yet
			<-r.process.Done()
			used[r.id] = r.finalUsage()
		}
	}
	return used
}

// ResidentMemory implements [cluster.ResourceLimits].
func (d *deployment) ResidentMemory() (resident uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.replicas {
		resident += measure.TreeRSS(r.process.Pid())
	}
	return resident
}

// Processes implements [cluster.LocalProcesses].
func (d *deployment) Processes() (all []measure.Watched) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.active() {
		all = append(all, measure.Watched{Name: r.id, PID: r.process.Pid(), Suspended: r.isPaused, Limited: d.spec.CPUs > 0})
		if r.proxy != nil {
			all = append(all, measure.Watched{Name: "fault proxy of " + r.id, PID: r.proxy.Pid(), Suspended: r.isPaused})
		}
	}
	return all
}

// CallCounts leaves out backends that do not answer.
func (d *deployment) CallCounts() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := maps.Clone(d.account.Calls)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, r := range d.replicas {
		all.Go(func() {
			if calls, ok := r.count(); ok && r.counted {
				mu.Lock()
				defer mu.Unlock()
				counts[r.id] = calls - r.began
			}
		})
	}
	all.Wait()
	return counts
}

// Failures describes backends that exited unexpectedly.
func (d *deployment) Failures() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	failures := slices.Clone(d.account.Failures)
	for _, r := range d.replicas { // the kernel may have killed only a child of it
		if why := r.limits.killed(r.id, r.oomKills); why != "" && !r.isStopping() {
			failures = append(failures, why)
		}
	}
	return failures
}

// FaultProxies implements [cluster.FaultProxies].
func (d *deployment) FaultProxies() (all []cluster.FaultProxy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.active() {
		if r.proxy != nil {
			pid := r.proxy.Pid()
			all = append(all, cluster.FaultProxy{PID: pid, Addr: r.addr, Backend: r.listen, CPU: func() (time.Duration, error) { return measure.CPU(pid) }})
		}
	}
	return all
}

// FaultProxyCPU implements [cluster.FaultProxies].
func (d *deployment) FaultProxyCPU() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := d.exitedProxyCPU
	for _, r := range d.replicas {
		if r.proxy != nil {
			cpu, _ := measure.CPU(r.proxy.Pid()) // 0 if it has just exited
			used += cpu
		}
	}
	return used
}
