package measure

import "time"

// Group is the control groups that bound a process: the directory of each controller in
// version 1 of control groups, one directory for both in version 2.
type Group struct{ CPU, Memory string }

// GroupUsage is what became of a group's processes since it was made.
type GroupUsage struct {
	Throttled time.Duration // how long they waited because the quota of CPU was used up
	OOMKills  uint64        // how many the kernel killed at the memory limit
	// Charged is the peak of what counts against the memory limit, bytes: the page cache and the
	// kernel's own memory for them, too; 0: the system does not tell.
	Charged uint64
}
