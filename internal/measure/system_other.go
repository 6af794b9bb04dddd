//go:build !linux

package measure

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// CPU returns the user and system time of a running process, as ps reports it.
func CPU(pid int) (time.Duration, error) {
	text, err := ps(pid, "time")
	if err != nil {
		return 0, err
	}
	var seconds float64 // [[hh:]mm:]ss.cc
	for _, part := range strings.Split(text, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, fmt.Errorf("CPU time of process %d: ps printed %q", pid, text)
		}
		seconds = seconds*60 + n
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// MaxRSS returns the resident memory now, in bytes, because this system reports no peak of other processes.
func MaxRSS(pid int) (uint64, error) {
	text, err := ps(pid, "rss")
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseUint(text, 10, 64)
	return kib << 10, err
}

func ps(pid int, field string) (string, error) {
	out, err := exec.Command("ps", "-o", field+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("ps of process %d: %w", pid, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func residentMemory(pid int) uint64 {
	now, _ := MaxRSS(pid)
	return now
}

// The functions below return 0 for what this system does not report.

// Listeners returns none.
func Listeners(string) (pids []int, listening bool) { return nil, false }

func forwardsToContainer(int) bool { return false }

// TreeListens returns that it is not known.
func TreeListens(int, string) (listens, known bool) { return false, false }

func threadCPU() time.Duration { return 0 }

// ResetMaxRSS does nothing: there is no peak to reset.
func ResetMaxRSS(int) error { return nil }

// WaitedCPU returns 0.
func WaitedCPU(int) (time.Duration, error) { return 0, nil }

func isStopped(int) bool { return false }

func processorTime(int) time.Duration { return 0 }

func waitsForProcessor(int) map[int]time.Duration { return nil }

// ReadProcessorTimes returns zeros.
func ReadProcessorTimes() ProcessorTimes { return ProcessorTimes{} }

// ReadKernelCounters returns zeros.
func ReadKernelCounters() KernelCounters { return KernelCounters{} }

// OOMKills returns 0.
func OOMKills() uint64 { return 0 }

// Usage returns zeros.
func (Cgroup) Usage() CgroupUsage { return CgroupUsage{} }

// ResetPeak does nothing: there is no peak to reset.
func (Cgroup) ResetPeak() {}

// FreeMemory returns 0: the free memory is not known.
func FreeMemory() uint64 { return 0 }
