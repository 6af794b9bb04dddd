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

// groupName is what subtrees are called, with the id of their process and a number.
const groupName = "rpclab-servers-"

// groupPeriod is over how long a quota of CPU counts, microseconds: Kubernetes' own.
const groupPeriod = 100_000

// groups is a subtree of control groups of our own, with one for each backend that has limits
// (cgroups(7)). In version 1 it is a subtree of each controller.
type groups struct {
	version string // v1 or v2
	roots   []string
	made    atomic.Int64 // gives the next backend's its name
}

// homes are the directories in which a subtree may be made, by controller: the nearest to this
// process first, so that what bounds it bounds its backends too.
type homes struct{ cpu, memory []string }

func ownHomes() homes {
	return homes{measure.OwnGroups("cpu"), measure.OwnGroups("memory")}
}

// subtrees counts those of this process, whose names differ by it.
var subtrees atomic.Int64

// newGroups makes the subtree at the first place where that is possible.
func (h homes) newGroups() (*groups, error) {
	name := fmt.Sprintf("%s%d-%d", groupName, os.Getpid(), subtrees.Add(1))
	err := errors.New("no control groups with the controllers cpu and memory are mounted at /sys/fs/cgroup")
	for _, cpu := range h.cpu {
		if isTwo(cpu) {
			dir := filepath.Join(cpu, name)
			if err = errors.Join(handDown(cpu), os.Mkdir(dir, 0o755), handDown(dir)); err == nil {
				return &groups{version: "v2", roots: []string{dir}}, nil
			}
			_ = os.Remove(dir) // of no use
			continue
		}
		for _, memory := range h.memory {
			if isTwo(memory) {
				continue
			}
			g := &groups{version: "v1", roots: []string{filepath.Join(cpu, name), filepath.Join(memory, name)}}
			if err = errors.Join(os.Mkdir(g.roots[0], 0o755), os.Mkdir(g.roots[1], 0o755)); err == nil {
				return g, nil
			}
			g.remove()
		}
	}
	return nil, err
}

// isTwo says whether a directory is a group of version 2.
func isTwo(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	return err == nil
}

// handDown lets groups below one of version 2 have limits. A group that has processes itself
// cannot, unless it is the root.
func handDown(dir string) error {
	const wanted = "+cpu +memory"
	given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if have := strings.Fields(string(given)); err == nil && slices.Contains(have, "cpu") && slices.Contains(have, "memory") {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(wanted), 0)
}

// add makes the group of a backend with its limits, 0 for none.
func (g *groups) add(id string, cpus float64, memory uint64) (of measure.Group, err error) {
	id = fmt.Sprintf("%s.%d", id, g.made.Add(1)) // another deployment's may be called the same
	of = measure.Group{CPU: filepath.Join(g.roots[0], id), Memory: filepath.Join(g.roots[len(g.roots)-1], id)}
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
	// Swap would be memory by another name; a system without it has no such file.
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

// drop removes the group of a backend, whose processes are dying.
func drop(of measure.Group) {
	removeGroup(of.CPU, patience)
	removeGroup(of.Memory, patience)
}

// remove removes the subtree.
func (g *groups) remove() {
	for _, root := range g.roots {
		removeGroup(root, patience)
	}
}

// patience is how long processes that were killed may keep their group busy.
const patience = 5 * time.Second

// sweep removes the subtrees of clusters whose process is gone: it was killed.
func (h homes) sweep() {
	for _, home := range slices.Concat(h.cpu, h.memory) {
		left, _ := filepath.Glob(filepath.Join(home, groupName+"*"))
		for _, dir := range left {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupName), "-")
			pid, err := strconv.Atoi(owner)
			if err == nil && pid != os.Getpid() && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				removeGroup(dir, time.Second) // servers of a run whose id is not to be seen here keep it
			}
		}
	}
}

// removeGroup removes a group and those below it. The files in them are the kernel's.
func removeGroup(dir string, patience time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() {
			removeGroup(filepath.Join(dir, entry.Name()), patience)
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			return
		}
	}
}
