package result

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"rpclab/internal/version"
)

// ThisMachine describes this machine. maxFiles is the limit of open files.
func ThisMachine(maxFiles uint64) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Rpclab: version.Current().String(), MaxFiles: maxFiles,
		ClockNS: float64(clockStep()),
	}
	describe(&m)
	return m
}

// clockStep returns the smallest step between 1,000 readings of the clock.
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

// Interference is the CPU time that others took during a trial. Stolen and Throttled are shares
// of the CPU time wanted, so idle CPUs do not hide them.
type Interference struct {
	Stolen    float64 `json:"stolen"`    // by other machines on the same hardware, of the time that all processes wanted, but of at least one CPU
	Throttled float64 `json:"throttled"` // by a quota that the experiment did not set, of the time that the run wanted
	// Others is by processes that do not belong to the run, of the time of all CPUs; nil: not
	// known, as on Kubernetes. There Stolen is the value of the worst node.
	Others *float64 `json:"others,omitempty"`
}

// Node is one machine of a Kubernetes cluster.
type Node struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory_bytes,omitempty"`
}

// NodeKinds describes the nodes of a run, equal nodes grouped: "2 of 4 CPUs, 16 GB, linux/amd64".
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
