package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// docs/decisions/0024-procfs.md says why these files are read without a library.

const cgroupRoot = "/sys/fs/cgroup"

// Usage reads the group's counters.
func (g Cgroup) Usage() (usage CgroupUsage) {
	stat, _ := os.ReadFile(filepath.Join(g.CPU, "cpu.stat"))
	usage.Throttled = parseThrottled(string(stat))
	usage.OOMKills = oomKills(g.Memory)
	for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
		text, _ := os.ReadFile(filepath.Join(g.Memory, file))
		n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		usage.PeakMemory = max(usage.PeakMemory, n)
	}
	return usage
}

// ResetPeak resets the peak of the charged memory. Only cgroup v1 supports that.
func (g Cgroup) ResetPeak() {
	file := filepath.Join(g.Memory, "memory.max_usage_in_bytes")
	if _, err := os.Stat(file); err == nil {
		_ = os.WriteFile(file, []byte("0"), 0) // without a reset the peak is that of the group's life
	}
}

// OwnCgroups returns the directories of this process's control groups for a controller (cpu,
// memory) of cgroup v1 and of their parents, the innermost first. The controller "" is
// cgroup v2. Directories that this process cannot see are left out.
func OwnCgroups(controller string) (dirs []string) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range cgroupsOf(controller, string(text)) {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// OOMKills returns how many processes of this process's control groups the kernel has killed at a
// memory limit. The number never decreases.
func OOMKills() (kills uint64) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range cgroupsOf("memory", string(text)) {
		kills = max(kills, oomKills(dir)) // a group's count includes the groups below it
	}
	return kills
}

// oomKills reads memory.events of cgroup v2 or memory.oom_control of cgroup v1.
func oomKills(dir string) (kills uint64) {
	for _, file := range []string{"memory.events", "memory.oom_control"} {
		events, _ := os.ReadFile(filepath.Join(dir, file))
		kills = max(kills, parseOOMKills(string(events)))
	}
	return kills
}

func parseOOMKills(text string) uint64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// parseThrottled reads cpu.stat: throttled_usec of cgroup v2, throttled_time in nanoseconds of
// cgroup v1.
func parseThrottled(text string) time.Duration {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
		case name == "throttled_usec":
			return time.Duration(n) * time.Microsecond
		case name == "throttled_time":
			return time.Duration(n)
		}
	}
	return 0
}

// cgroupsOf reads /proc/self/cgroup. It returns the directories of the groups that may limit this
// process: those of cgroup v2, and those of the controller in cgroup v1, each with its parents.
func cgroupsOf(controller, text string) (dirs []string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			dirs = append(dirs, withParents(cgroupRoot, parts[2])...)
		default:
			for name := range strings.SplitSeq(parts[1], ",") {
				if name == controller {
					dirs = append(dirs, withParents(filepath.Join(cgroupRoot, parts[1]), parts[2])...)
				}
			}
		}
	}
	return dirs
}

// withParents returns a group's directory and its parents up to the root of the hierarchy, which in
// a container is the container's own group.
func withParents(root, group string) (dirs []string) {
	for dir := filepath.Join(root, group); dir == root || strings.HasPrefix(dir, root+"/"); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
