package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"rpclab/internal/measure"
)

// groupName is the prefix of subtrees; the process ID and a number follow.
const groupName = "rpclab-servers-"

// groupPeriod is the period of a CPU quota in microseconds, as in Kubernetes.
const groupPeriod = 100_000

// cgroups is a subtree of control groups (cgroups(7)), with a group for each backend that has
// limits. In version 1 each controller has a subtree.
type cgroups struct {
	version string // v1 or v2
	roots   []string
	made    atomic.Int64 // numbers the groups
}

// cgroupParents are the groups in which a subtree may be made, by controller. The group of this process is
// the first, so that its limits hold for its backends too.
type cgroupParents struct{ cpu, memory []string }

func ownCgroups() cgroupParents {
	return cgroupParents{measure.OwnCgroups("cpu"), measure.OwnCgroups("memory")}
}

// subtrees numbers the subtrees of this process.
var subtrees atomic.Int64

// newCgroups makes a subtree in the first parent where that is possible.
func (p cgroupParents) newCgroups() (*cgroups, error) {
	name := fmt.Sprintf("%s%d-%d", groupName, os.Getpid(), subtrees.Add(1))
	err := errors.New("no control groups with the controllers cpu and memory are mounted at /sys/fs/cgroup")
	for _, cpu := range p.cpu {
		if isV2(cpu) {
			dir := filepath.Join(cpu, name)
			if err = errors.Join(enableControllers(cpu), os.Mkdir(dir, 0o755), enableControllers(dir)); err == nil {
				return &cgroups{version: "v2", roots: []string{dir}}, nil
			}
			_ = os.Remove(dir) // it has no controllers
			continue
		}
		for _, memory := range p.memory {
			if isV2(memory) {
				continue
			}
			g := &cgroups{version: "v1", roots: []string{filepath.Join(cpu, name), filepath.Join(memory, name)}}
			if err = errors.Join(os.Mkdir(g.roots[0], 0o755), os.Mkdir(g.roots[1], 0o755)); err == nil {
				return g, nil
			}
			g.remove()
		}
	}
	return nil, err
}

// isV2 says whether a directory is a group of cgroup v2.
func isV2(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	return err == nil
}

// enableControllers lets the children of a cgroup v2 group have limits. That fails for a group
// with processes, unless it is the root.
func enableControllers(dir string) error {
	const wanted = "+cpu +memory"
	enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if have := strings.Fields(string(enabled)); err == nil && slices.Contains(have, "cpu") && slices.Contains(have, "memory") {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(wanted), 0)
}

// add makes the group of a backend with its limits; 0: none.
func (g *cgroups) add(id string, cpus float64, memory uint64) (of measure.Cgroup, err error) {
	id = fmt.Sprintf("%s.%d", id, g.made.Add(1)) // a backend of another deployment may have the same name
	of = measure.Cgroup{CPU: filepath.Join(g.roots[0], id), Memory: filepath.Join(g.roots[len(g.roots)-1], id)}
	for _, dir := range slices.Compact([]string{of.CPU, of.Memory}) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return of, err
		}
	}
	set := func(dir, file, value string) {
		if wrong := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); wrong != nil {
			err = errors.Join(err, fmt.Errorf("limit a control group: %w", wrong))
		}
	}
	quota, bytes := strconv.Itoa(int(cpus*groupPeriod)), strconv.FormatUint(memory, 10)
	switch {
	case g.version == "v2" && cpus > 0:
		set(of.CPU, "cpu.max", quota+" "+strconv.Itoa(groupPeriod))
	case cpus > 0:
		set(of.CPU, "cpu.cfs_period_us", strconv.Itoa(groupPeriod))
		set(of.CPU, "cpu.cfs_quota_us", quota)
	}
	// Without these limits a backend would swap. A system without swap lacks the files.
	switch {
	case g.version == "v2" && memory > 0:
		set(of.Memory, "memory.max", bytes)
		_ = os.WriteFile(filepath.Join(of.Memory, "memory.swap.max"), []byte("0"), 0)
	case memory > 0:
		set(of.Memory, "memory.limit_in_bytes", bytes)
		_ = os.WriteFile(filepath.Join(of.Memory, "memory.memsw.limit_in_bytes"), []byte(bytes), 0)
	}
	return of, err
}

// removeLimits removes the group of a backend, whose processes are exiting.
func removeLimits(of measure.Cgroup) {
	removeGroup(of.CPU, removeTimeout)
	removeGroup(of.Memory, removeTimeout)
}

// remove removes the subtree.
func (g *cgroups) remove() {
	for _, root := range g.roots {
		removeGroup(root, removeTimeout)
	}
}

// removeTimeout limits the wait for killed processes, because a group with a process cannot be removed.
const removeTimeout = 5 * time.Second

// removeStale removes the subtrees of processes that were killed.
func (p cgroupParents) removeStale() {
	for _, parent := range slices.Concat(p.cpu, p.memory) {
		left, _ := filepath.Glob(filepath.Join(parent, groupName+"*"))
		for _, dir := range left {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupName), "-")
			pid, err := strconv.Atoi(owner)
			if err == nil && pid != os.Getpid() && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				removeGroup(dir, time.Second) // it stays if its run is in another PID namespace
			}
		}
	}
}

// removeGroup removes a group and its children. The kernel removes the files.
func removeGroup(dir string, timeout time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() {
			removeGroup(filepath.Join(dir, entry.Name()), timeout)
		}
	}
	for end := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			return
		}
	}
}

// removeStale removes the control groups of runs that were killed.
func removeStale() { ownCgroups().removeStale() }

// close removes the cluster's control groups.
func (g *cgroups) close() {
	if g != nil {
		g.remove()
	}
}
