package process

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startOn starts a child on some processors. The child inherits the processors of the thread that
// starts the child; the caller has locked this thread to its goroutine.
func startOn(processors []int, start func() error) error {
	if len(processors) == 0 {
		return start()
	}
	var before, own unix.CPUSet
	for _, n := range processors {
		own.Set(n)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("processors of this thread: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return fmt.Errorf("pin to processors %v: %w", processors, err)
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &before))
}
