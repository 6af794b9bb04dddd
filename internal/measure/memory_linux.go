package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// FreeMemory returns how much memory new processes can use, in bytes: what the kernel has available, or less if
// a control group of this process has a limit. 0: not known.
func FreeMemory() uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	free := 1024 * valueOf(string(text), "MemAvailable:")
	for _, dir := range append(OwnCgroups("memory"), OwnCgroups("")...) {
		if left, limited := freeInGroup(dir); limited && (free == 0 || left < free) {
			free = max(left, 1) // 0 is not known
		}
	}
	return free
}

// freeInGroup returns the memory that is left of the limit of a control group of either version. The inactive page
// cache counts as free, because the kernel drops it first.
func freeInGroup(dir string) (left uint64, limited bool) {
	for _, files := range [][3]string{
		{"memory.max", "memory.current", "inactive_file"},
		{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	} {
		limit, err := readNumber(filepath.Join(dir, files[0]))
		if err != nil { // no such file, or no limit
			continue
		}
		used, err := readNumber(filepath.Join(dir, files[1]))
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
		used -= min(used, valueOf(string(stat), files[2]))
		return limit - min(limit, used), true
	}
	return 0, false
}

func readNumber(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// valueOf returns the number after a name at the start of a line; 0: there is none.
func valueOf(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			return n
		}
	}
	return 0
}
