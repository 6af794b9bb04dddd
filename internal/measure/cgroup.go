package measure

import "time"

// Cgroup names the control groups that limit a process: the directory of each controller with
// cgroup v1, the same directory twice with cgroup v2.
type Cgroup struct{ CPU, Memory string }

// CgroupUsage is what the kernel counted for a control group since the group was created.
type CgroupUsage struct {
	Throttled time.Duration // time that its processes waited because the CPU quota was used up
	OOMKills  uint64        // processes that the kernel killed at the memory limit
	// PeakMemory is the peak of the memory charged to the group, in bytes. It includes the page cache
	// and kernel memory. 0: the system does not report it.
	PeakMemory uint64
}
