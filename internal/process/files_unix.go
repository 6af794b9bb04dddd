//go:build unix

package process

import (
	"fmt"
	"syscall"
)

// MaxFiles raises this process's soft limit of open files to the hard one, and
// returns the limit; children inherit it.
func MaxFiles() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	// Go raises its own limit when it starts, but gives children the old one unless
	// the program itself has set it.
	raised := syscall.Rlimit{Cur: limit.Max, Max: limit.Max}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return limit.Cur, nil
}
