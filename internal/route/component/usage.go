package component

import (
	"context"
	"time"

	"rpclab/internal/measure"
)

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

// Processes returns the running process; none: it is not ready.
func (c *Component) Processes() []measure.Watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	return []measure.Watched{{Name: c.Name, PID: c.process.Pid()}}
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
