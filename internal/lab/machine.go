package lab

import (
	"runtime"

	"rpclab/internal/result"
)

// machine is where this process runs.
func machine(maxFiles uint64) result.Machine {
	m := result.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), MaxFiles: maxFiles,
	}
	describe(&m)
	return m
}
