package local

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"

	"rpclab/internal/cluster"
)

// sweep removes the control groups of runs that were killed.
func sweep() { ownHomes().sweep() }

// bound prepares the limits of one backend: a control group of its own or, where none can be
// made, as many processors and what the runtime itself can do.
func (c *Cluster) bound(id string, spec cluster.Spec) (b bound, err error) {
	if !limited(spec) {
		return b, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.groups == nil && !c.pinned {
		made, err := c.homes().newGroups()
		if c.groups = made; err != nil {
			c.pinned = true
			c.options.Log.Warn("limits by pinning and the servers' runtimes, since no control group can be made", "error", err)
		}
	}
	b.memory = spec.Memory
	if c.pinned {
		b.how, b.env, b.processors = pinned, spec.Runtime, c.processors(spec.CPUs)
		return b, nil
	}
	b.how = byGroups + c.groups.version
	if b.group, err = c.groups.add(id, spec.CPUs, spec.Memory); err != nil {
		drop(b.group)
	}
	return b, err
}

// homes are where control groups can be made.
func (c *Cluster) homes() homes {
	if c.options.NoGroups {
		return homes{}
	}
	return ownHomes()
}

// processors are the next so many of those that this process may use, rounded up; none: all.
// Call it with c.mu held.
func (c *Cluster) processors(cpus float64) (own []int) {
	var all unix.CPUSet
	want := int(math.Ceil(cpus))
	if err := unix.SchedGetaffinity(0, &all); err != nil || want == 0 || want >= all.Count() {
		return nil
	}
	var may []int
	for n := range runtime.NumCPU() + 1024 {
		if all.IsSet(n) {
			may = append(may, n)
		}
	}
	for range want {
		own = append(own, may[c.turn%len(may)])
		c.turn++
	}
	return own
}

// release removes what the limits of a backend needed, once its processes are gone.
func (b bound) release() {
	if b.group.CPU != "" {
		drop(b.group)
	}
}

// close removes the cluster's control groups.
func (g *groups) close() {
	if g != nil {
		g.remove()
	}
}
