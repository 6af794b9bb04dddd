package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userHZ is the number of ticks per second in /proc, on every architecture that Go supports.
const userHZ = 100

// ReadProcessorTimes reads /proc/stat and the cpu.stat of this process's control groups.
func ReadProcessorTimes() ProcessorTimes {
	stat, _ := os.ReadFile("/proc/stat")
	times := parseStat(string(stat))
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range cgroupsOf("cpu", string(groups)) {
		text, _ := os.ReadFile(filepath.Join(dir, "cpu.stat"))
		times.Throttled += parseThrottled(string(text))
	}
	return times
}

// parseStat reads the first line of /proc/stat: the ticks that all processors spent as user, nice,
// system, idle, iowait, irq, softirq, steal (proc(5)).
func parseStat(text string) (times ProcessorTimes) {
	line, _, _ := strings.Cut(text, "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		spent := time.Duration(n) * (time.Second / userHZ) // n * time.Second overflows
		switch {
		case err != nil: // the name of the line
		case i == 4 || i == 5:
			times.Idle += spent
		case i == 8:
			times.Stolen = spent
		case i == 6 || i == 7:
			times.Interrupts += spent
			times.Busy += spent
		case i < 8:
			times.Busy += spent
		}
	}
	return times
}
