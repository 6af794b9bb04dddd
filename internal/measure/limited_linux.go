package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Look reads what became of the group's processes so far.
func (g Group) Look() (u GroupUsage) {
	stat, _ := os.ReadFile(filepath.Join(g.CPU, "cpu.stat"))
	u.Throttled = parseThrottled(string(stat))
	u.OOMKills = oomKills(g.Memory)
	for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
		text, _ := os.ReadFile(filepath.Join(g.Memory, file))
		n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		u.Charged = max(u.Charged, n)
	}
	return u
}

// ForgetPeak has the peak of what is charged begin anew, where the system can: in version 1.
func (g Group) ForgetPeak() {
	file := filepath.Join(g.Memory, "memory.max_usage_in_bytes")
	if _, err := os.Stat(file); err == nil {
		_ = os.WriteFile(file, []byte("0"), 0) // the peak of its life is a peak, too
	}
}

// OwnGroups are the directories of this process's control groups that have a controller (cpu,
// memory), and of all above them, in version 1; with none, those of version 2. The nearest is
// the first; those that are out of sight are left out.
func OwnGroups(controller string) (dirs []string) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range groupsOf(controller, string(text)) {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
