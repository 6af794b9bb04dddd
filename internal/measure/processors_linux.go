package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// LookAtProcessors reads what the processors did so far.
func LookAtProcessors() Processors {
	stat, _ := os.ReadFile("/proc/stat")
	p := parseStat(string(stat))
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range cpuGroups(string(groups)) {
		text, _ := os.ReadFile(filepath.Join(dir, "cpu.stat"))
		p.Throttled += parseThrottled(string(text))
	}
	return p
}

// parseStat reads the first line of /proc/stat: hundredths of a second that all
// processors spent as user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
func parseStat(text string) (p Processors) {
	const tick = time.Second / 100 // USER_HZ, on every architecture that Go knows
	line, _, _ := strings.Cut(text, "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		spent := time.Duration(n) * tick
		switch {
		case err != nil: // the name of the line
		case i == 4 || i == 5:
			p.Idle += spent
		case i == 8:
			p.Stolen = spent
		case i < 8:
			p.Busy += spent
		}
	}
	return p
}

const groupRoot = "/sys/fs/cgroup"

// cpuGroups are those that may bound this process's processors.
func cpuGroups(text string) []string { return groupsOf("cpu", text) }

// groupsOf are the directories of the control groups that may bound this process's use of
// something, by /proc/self/cgroup: one of version 2, or that of the controller of version 1,
// and all above it.
func groupsOf(wanted, text string) (dirs []string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			dirs = append(dirs, upTo(groupRoot, parts[2])...)
		default:
			for controller := range strings.SplitSeq(parts[1], ",") {
				if controller == wanted {
					dirs = append(dirs, upTo(filepath.Join(groupRoot, parts[1]), parts[2])...)
				}
			}
		}
	}
	return dirs
}

// upTo are a group's directory and those above it, up to the root of its hierarchy: in
// a container that is the container's own.
func upTo(root, group string) (dirs []string) {
	for dir := filepath.Join(root, group); dir == root || strings.HasPrefix(dir, root+"/"); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// parseThrottled reads cpu.stat: throttled_usec of version 2, throttled_time in
// nanoseconds of version 1.
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
