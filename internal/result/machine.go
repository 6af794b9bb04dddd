package result

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// ThisMachine is where this process runs, which may have so many files open.
func ThisMachine(maxFiles uint64) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Rpclab: Version(), MaxFiles: maxFiles,
		ClockNS: float64(clockStep()),
	}
	describe(&m)
	return m
}

// clockStep is the smallest difference of two readings of the clock, of many.
func clockStep() time.Duration {
	smallest := time.Hour
	for start, last, i := time.Now(), time.Duration(0), 0; i < 1000; i++ {
		now := time.Since(start)
		if now > last {
			smallest = min(smallest, now-last)
		}
		last = now
	}
	return smallest
}

// Interference is how much of the machine's processors others had in a trial. What was taken
// is a share of what was wanted: idle processors do not make up for it.
type Interference struct {
	Stolen    float64 `json:"stolen"`    // by other machines on the same hardware, of what all processes wanted, but of one processor at the least
	Throttled float64 `json:"throttled"` // by a quota that the experiment did not set, of what the run wanted
	// Others is by processes that are not the lab's, of all the processors' time; nil: not
	// known, as on Kubernetes, where Stolen is that of the node that lost most.
	Others *float64 `json:"others,omitempty"`
}

// Node is one machine of a Kubernetes cluster.
type Node struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory_bytes,omitempty"`
}

// NodeKinds says which nodes a run had, the equal ones together: 2 of 4 CPUs, 16 GB,
// linux/amd64.
func (m Machine) NodeKinds() (kinds []string) {
	count := map[Node]int{}
	for _, n := range m.Nodes {
		n.Memory = uint64(math.Round(float64(n.Memory)/1e9)) * 1e9
		count[n]++
	}
	for n, times := range count {
		kind := fmt.Sprintf("%d of %d CPUs, ", times, n.CPUs)
		if n.Memory > 0 {
			kind += fmt.Sprintf("%.0f GB, ", float64(n.Memory)/1e9)
		}
		kinds = append(kinds, kind+n.OS+"/"+n.Arch)
	}
	slices.Sort(kinds)
	return kinds
}
