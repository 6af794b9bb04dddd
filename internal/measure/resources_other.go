//go:build !linux

package measure

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// CPU is the user and system time that a living process has used, as ps tells it.
func CPU(pid int) (time.Duration, error) {
	text, err := ps(pid, "time")
	if err != nil {
		return 0, err
	}
	var seconds float64 // [[hh:]mm:]ss.cc
	for _, part := range strings.Split(text, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, fmt.Errorf("CPU time of process %d: ps said %q", pid, text)
		}
		seconds = seconds*60 + n
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// threadCPU is not to be had here.
func threadCPU() time.Duration { return 0 }

// MaxRSS is what is resident now, in bytes: this system keeps no peak of another process.
func MaxRSS(pid int) (uint64, error) {
	text, err := ps(pid, "rss")
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseUint(text, 10, 64)
	return kib << 10, err
}

// ResetMaxRSS does nothing, since there is no peak to reset.
func ResetMaxRSS(int) error { return nil }

func ps(pid int, field string) (string, error) {
	out, err := exec.Command("ps", "-o", field+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("ps of process %d: %w", pid, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// LookAtProcessors knows nothing of this system.
func LookAtProcessors() Processors { return Processors{} }

// WaitedCPU of ended children is not told by this system.
func WaitedCPU(int) (time.Duration, error) { return 0, nil }

// OOMKills are not told by this system.
func OOMKills() uint64 { return 0 }

// Look knows nothing of this system.
func (Group) Look() GroupUsage { return GroupUsage{} }

// ForgetPeak does nothing, since there is no peak to forget.
func (Group) ForgetPeak() {}

// resident is what of a process is in memory now, in bytes. 0: it is gone.
func resident(pid int) uint64 {
	now, _ := MaxRSS(pid)
	return now
}
