package measure

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the user and system time of a running process, to the nanosecond. It reads the process's
// CPU clock, whose ID is computed as in clock_getcpuclockid(3).
func CPU(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &spent); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(spent.Nano()), nil
}

// threadCPU returns the user and system time of this thread.
func threadCPU() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

// MaxRSS returns the peak of a process's resident memory in bytes, since it started or since
// [ResetMaxRSS].
func MaxRSS(pid int) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("memory of process %d: %w", pid, errors.ErrUnsupported) // a zombie has no VmHWM
}

// ResetMaxRSS sets the peak to the resident memory now: proc(5), clear_refs 5.
func ResetMaxRSS(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// WaitedCPU returns the user and system time of a process's descendants that have ended and for which
// their parents waited, with a resolution of 10 ms: proc(5), stat, cutime and cstime.
func WaitedCPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold any character.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("CPU time of the children of process %d: %q", pid, stat)
	}
	user, errUser := strconv.ParseInt(fields[13], 10, 64)
	system, errSystem := strconv.ParseInt(fields[14], 10, 64)
	return time.Duration(user+system) * (time.Second / userHZ), errors.Join(errUser, errSystem)
}

// residentMemory returns a process's resident memory now, in bytes: proc(5), statm. It is 0 for a
// process that has ended.
func residentMemory(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// isStopped reports whether a signal or a debugger has stopped a process: proc(5), stat, state T or t. It
// reads the main thread alone, because the file of the process sums up all threads.
func isStopped(pid int) bool {
	id := strconv.Itoa(pid)
	stat, _ := os.ReadFile("/proc/" + id + "/task/" + id + "/stat")
	after := bytes.LastIndexByte(stat, ')') + 2
	return after < len(stat) && (stat[after] == 'T' || stat[after] == 't')
}

// processorTime returns the CPU time of a process; 0: it has ended.
func processorTime(pid int) time.Duration {
	used, _ := CPU(pid)
	return used
}

// waitsForProcessor returns how long each thread of a process was runnable without running: the second field
// of schedstat (Documentation/scheduler/sched-stats.rst).
func waitsForProcessor(pid int) map[int]time.Duration {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	waits := make(map[int]time.Duration, len(threads))
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			id, _ := strconv.Atoi(thread.Name())
			waited, _ := strconv.ParseInt(fields[1], 10, 64)
			waits[id] = time.Duration(waited)
		}
	}
	return waits
}
