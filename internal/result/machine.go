package result

import (
	"fmt"
	"math"
	"slices"
)

// Machine describes the machine on which rpclab ran.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	Memory uint64 `json:"memory_bytes,omitempty"`
	Model  string `json:"cpu_model,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	Go     string `json:"go"`
	Rpclab string `json:"rpclab,omitempty"` // version of rpclab; empty: not known
	// Tools are the versions of third-party programs in the run, by name: envoy.
	Tools    map[string]string `json:"tools,omitempty"`
	MaxFiles uint64            `json:"max_files,omitempty"`
	// Kubernetes is the version of the cluster that ran backends and callers. The other fields
	// describe the machine of rpclab itself. Empty: everything ran on that machine.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Nodes are the nodes of that cluster; empty: rpclab may not list them.
	Nodes []Node `json:"nodes,omitempty"`
	// Images are the IDs of the images that servers in pods of the run had, by name. A name with several IDs is a tag that
	// has moved during the run.
	Images map[string][]string `json:"images,omitempty"`
	// ClockNS is the smallest observed step of the clock, in nanoseconds.
	ClockNS float64 `json:"clock_ns,omitempty"`
}

// Interference is the CPU time that a trial could not use. Stolen and Throttled are shares
// of the CPU time wanted, so idle CPUs do not hide them.
type Interference struct {
	Stolen    float64 `json:"stolen"`    // by other machines on the same hardware, of the time that all processes wanted, but of at least one CPU
	Throttled float64 `json:"throttled"` // by a quota that the experiment did not set, of the time that the run wanted
	// Others is by processes that do not belong to the run, of the time of all CPUs, without
	// interrupts; nil: not known, as on Kubernetes. There Stolen is the value of the worst node.
	Others *float64 `json:"others,omitempty"`
	// Busy is by all processes and interrupts, of the time of all CPUs; nil: not known, as on Kubernetes.
	Busy *float64 `json:"busy,omitempty"`
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
