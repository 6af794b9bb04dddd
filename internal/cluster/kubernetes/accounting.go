package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rpclab/internal/cluster"
)

// ResetUsage implements [cluster.Deployment].
func (d *deployment) ResetUsage() error {
	d.mu.Lock()
	d.account, d.unmeasured = cluster.NewAccounting(), ""
	d.mu.Unlock()
	return inParallel(d.present(), (*replica).resetUsage)
}

// WhyUsageUnknown implements [cluster.Unmeasured].
func (d *deployment) WhyUsageUnknown() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return cmp.Or(d.noMeters, d.unmeasured)
}

// Usage is what the servers have used since ResetUsage; nil: not known. A server that stopped counts as last measured,
// less than leavingPause and a request before its exit.
func (d *deployment) Usage() map[string]cluster.Usage {
	if d.WhyUsageUnknown() != "" {
		return nil
	}
	_ = inParallel(d.present(), func(backend *replica) error {
		backend.sample()
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	used := maps.Clone(d.account.Exited)
	for _, backend := range d.replicas {
		usage, known := backend.usage()
		switch {
		case known:
			used[backend.name] = usage
		case backend.hasRun():
			d.unmeasured = fmt.Sprintf("pod %s could not be measured from the beginning to the end of the load", backend.name)
			return nil
		}
	}
	return used
}

// CallCounts leaves out backends that do not answer, and those that restarted.
func (d *deployment) CallCounts() map[string]uint64 {
	counts := map[string]uint64{}
	var mu sync.Mutex
	_ = inParallel(d.present(), func(backend *replica) error {
		if calls, ok := backend.calls(); ok {
			mu.Lock()
			defer mu.Unlock()
			counts[backend.name] = calls
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(counts, d.account.Calls)
	return counts
}

// Failures describes backends that exited unexpectedly, and problems that keep others from
// becoming ready.
func (d *deployment) Failures() []string {
	d.awaitReports()
	d.mu.Lock()
	failures, wanted := slices.Clone(d.account.Failures), d.wanted
	d.mu.Unlock()
	for _, found := range d.run.problems(d.name, d.run.watcher.podsOf(d.name), wanted) {
		failures = append(failures, strings.ReplaceAll(found.text, "\n", "; "))
	}
	return failures
}

// awaitReports waits, not for long, until the cluster has reported all unexpected exits.
func (d *deployment) awaitReports() {
	limit := time.After(reportTimeout)
	for {
		changed := d.run.watcher.change()
		if !slices.ContainsFunc(d.present(), (*replica).hasUnreportedExit) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			return
		case <-d.ctx.Done():
			return
		}
	}
}
