package result

import (
	"runtime"
	"time"
)

// ThisMachine is where this process runs, which may have so many files open.
func ThisMachine(maxFiles uint64) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Rpclab: Version(), MaxFiles: maxFiles,
		ClockNS: float64(clockStep()),
	}
	describe(&m)
	return m
}

// clockStep is the smallest difference of two readings of the clock, of many.
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
