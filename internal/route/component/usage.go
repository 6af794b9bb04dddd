package component

import (
	"context"
	"time"

	"rpclab/internal/measure"
)

// usage is the resources that the processes of a component used, one after the other.
type usage struct {
	baseline time.Duration // CPU time of the running process at ResetUsage
	ended    time.Duration // CPU time since then of processes that exited
	peak     uint64
}

// end adds the usage of a process that is about to exit, or has.
func (u *usage) end(cpu time.Duration, peak uint64) {
	u.ended += max(cpu-u.baseline, 0)
	u.baseline, u.peak = 0, max(u.peak, peak)
}

// ResetUsage starts a new measurement of resources and failures.
func (c *Component) ResetUsage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.failures = usage{}, nil
	if c.process != nil {
		c.used.baseline, _ = measure.TreeUsage(c.process.Pid())
		measure.ResetTreeMaxRSS(c.process.Pid())
	}
}

// Usage is the CPU time of the process and all its descendants since ResetUsage, and the sum
// of their peaks of resident memory in bytes, which counts shared pages for each. A
// restarted process counts from its start.
func (c *Component) Usage() (cpu time.Duration, maxRSS uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.used
	if c.process != nil {
		u.end(measure.TreeUsage(c.process.Pid()))
	}
	return u.ended, u.peak
}

// AcceptedConnections is how many connections each worker of the process has accepted since
// it started; nil: not known.
func (c *Component) AcceptedConnections() []uint64 {
	if c.WorkerConnections == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	all, err := c.WorkerConnections(ctx)
	if err != nil {
		return nil
	}
	return all
}
