package local

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"

	"rpclab/internal/cluster"
)

// limitsOf prepares the limits of one backend: a control group. Where rpclab cannot make one, it pins the
// backend to processors, and the runtime of the server limits itself.
func (c *Cluster) limitsOf(id string, spec cluster.Spec) (l limits, err error) {
	if !limited(spec) {
		return l, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cgroups == nil && !c.pinned {
		made, err := c.cgroupParents().newCgroups()
		if c.cgroups = made; err != nil {
			c.pinned = true
			c.options.Log.Warn("no control group can be made; limits are enforced by pinning and by the servers' runtimes", "error", err)
		}
	}
	l.memory = spec.Memory
	if c.pinned {
		l.mechanism, l.env, l.processors = pinned, spec.RuntimeEnv, c.processors(spec.CPUs)
		return l, nil
	}
	l.mechanism = byCgroup + c.cgroups.version
	if l.group, err = c.cgroups.add(id, spec.CPUs, spec.Memory); err != nil {
		removeLimits(l.group)
	}
	return l, err
}

// cgroupParents are the groups below which control groups can be made.
func (c *Cluster) cgroupParents() cgroupParents {
	if c.options.NoCgroups {
		return cgroupParents{}
	}
	return ownCgroups()
}

// processors picks processors for a CPU limit, rounded up, in turn from those that this process may use;
// none: all. Call it with c.mu held.
func (c *Cluster) processors(cpus float64) (own []int) {
	var all unix.CPUSet
	want := int(math.Ceil(cpus))
	if err := unix.SchedGetaffinity(0, &all); err != nil || want == 0 || want >= all.Count() {
		return nil
	}
	var allowed []int
	for n := range runtime.NumCPU() + 1024 {
		if all.IsSet(n) {
			allowed = append(allowed, n)
		}
	}
	for range want {
		own = append(own, allowed[c.nextProcessor%len(allowed)])
		c.nextProcessor++
	}
	return own
}

// release removes the control group of a backend, once its processes have exited.
func (l limits) release() {
	if l.group.CPU != "" {
		removeLimits(l.group)
	}
}
