package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// member is a process of a tree. Its start time distinguishes it from a later process with its ID.
type member struct {
	pid     int
	started uint64
}

func memberOf(pid int) member { return member{pid, startTime(pid)} }

// signal sends a signal, unless the process has ended.
func (m member) signal(signal syscall.Signal) error {
	handle, err := os.FindProcess(m.pid) // on Linux it stays with this process: pidfd_open(2)
	if err != nil || memberOf(m.pid) != m {
		return nil
	}
	defer handle.Release()
	if err := handle.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", m.pid, err)
	}
	return nil
}

// family returns a process and its descendants, also those that left its process group, parents first. An ID may be
// used again while a tree is read, so family takes only processes that two walks find. It returns none if the process
// has ended, or if the system does not report start times.
func family(of member) []member {
	var all []member
	for _, pid := range Tree(of.pid) {
		all = append(all, memberOf(pid))
	}
	again := Tree(of.pid)
	if of.started == 0 || memberOf(of.pid) != of {
		return nil
	}
	return slices.DeleteFunc(all, func(m member) bool { return m.started == 0 || !slices.Contains(again, m.pid) })
}

// suspend suspends a process and its descendants and returns them. Parents stop first, so that no further processes start.
func suspend(root member) (all []member, err error) {
	for {
		before := len(all)
		for _, m := range family(root) {
			if !slices.Contains(all, m) {
				all, err = append(all, m), errors.Join(err, m.signal(syscall.SIGSTOP))
			}
		}
		if len(all) == before || err != nil {
			return all, err
		}
	}
}

// kill kills a process and its descendants, parents last: the kernel resumes what a parent leaves behind suspended.
func kill(root member) {
	all, _ := suspend(root) // SIGKILL too fails for a process that rpclab may not signal
	for _, m := range slices.Backward(all) {
		_ = m.signal(syscall.SIGKILL)
	}
}

// killOwned kills what a child has started, by the child's name in their environment, and what these start meanwhile.
func killOwned(owner string) {
	var killed []member
	for {
		before := len(killed)
		for _, pid := range owned(owner) {
			m := memberOf(pid)
			if hasOwner(pid, owner) && !slices.Contains(killed, m) { // still: another process may have got its ID
				killed = append(killed, m)
				kill(m)
			}
		}
		if len(killed) == before {
			return
		}
	}
}
