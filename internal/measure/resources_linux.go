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

// CPU is the user and system time that a living process has used, to the
// nanosecond: the kernel keeps a clock for each process, whose id is made from the
// process id as clock_getcpuclockid(3) does it.
func CPU(pid int) (time.Duration, error) {
	const schedulerClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// threadCPU is the user and system time that this thread has used.
func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// MaxRSS is the peak of a process's resident memory in bytes, since it began or
// since [ResetMaxRSS].
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
	return 0, fmt.Errorf("memory of process %d: %w", pid, errors.ErrUnsupported) // a zombie has none
}

// ResetMaxRSS makes the peak start again from what is resident now: proc(5), clear_refs 5.
func ResetMaxRSS(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// WaitedCPU is the user and system time of a process's children that have ended and
// that it waited for, with theirs, to 10 ms: proc(5), stat, cutime and cstime.
func WaitedCPU(pid int) (time.Duration, error) {
	const hertz = 100 // USER_HZ, of every Linux that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in brackets, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("CPU time of the children of process %d: %q", pid, stat)
	}
	user, errUser := strconv.ParseInt(fields[13], 10, 64)
	system, errSystem := strconv.ParseInt(fields[14], 10, 64)
	return time.Duration(user+system) * time.Second / hertz, errors.Join(errUser, errSystem)
}

// resident is what of a process is in memory now, in bytes: proc(5), statm. 0: it is gone.
func resident(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}
