package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills is how many processes of this process's control groups the kernel has killed
// because a group had reached its memory limit: oom_kill of memory.events in version 2
// of control groups, of memory.oom_control in version 1. It only grows.
func OOMKills() (most uint64) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range groupsOf("memory", string(text)) {
		most = max(most, oomKills(dir)) // a group counts with those below it
	}
	return most
}

func oomKills(dir string) (n uint64) {
	for _, file := range []string{"memory.events", "memory.oom_control"} {
		events, _ := os.ReadFile(filepath.Join(dir, file))
		n = max(n, parseOOMKills(string(events)))
	}
	return n
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
