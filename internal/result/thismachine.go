package result

import (
	"runtime"
	"time"

	"rpclab/internal/version"
)

// ThisMachine describes this machine. maxFiles is the limit of open files.
func ThisMachine(maxFiles uint64) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Rpclab: version.Current().String(), MaxFiles: maxFiles,
		ClockNS: float64(clockStep()),
	}
	describe(&m)
	return m
}

// clockStep returns the smallest step between 1,000 readings of the clock.
func clockStep() time.Duration {
	smallest := time.Hour
	for start, last, i := time.Now(), time.Duration(0), 0; i < 1000; i++ {
		now := time.Since(start)
		if now > last {
			smallest = min(smallest, now-last)
		}
		last = now
	}
	return smallest
}
