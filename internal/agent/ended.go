package agent

import (
	"fmt"
	"syscall"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Ended is the error of a program that exited with an exit code other than 0, or that a signal ended.
type Ended struct {
	ExitCode int            // -1: ended by a signal
	Signal   syscall.Signal // 0: none
	// Requested reports whether a client or the agent asked for the exit. Without a request, a SIGKILL most
	// often comes from the kernel, because of a memory limit.
	Requested bool
	// OOMKills is how many processes of the container the kernel killed at the container's memory
	// limit while the program ran.
	OOMKills uint64
}

func exitError(e *rpclabv1.Ended) error {
	if e.ExitCode == 0 {
		return nil
	}
	return &Ended{ExitCode: int(e.ExitCode), Signal: syscall.Signal(e.Signal), Requested: e.Asked, OOMKills: e.OomKills}
}

// OOMKilled reports whether the kernel killed the program at its container's memory limit.
func (e *Ended) OOMKilled() bool {
	return e.Signal == syscall.SIGKILL && !e.Requested && e.OOMKills > 0
}

// Error implements error, in the words of package os.
func (e *Ended) Error() string {
	switch {
	case e.Signal == 0:
		return fmt.Sprintf("exit status %d", e.ExitCode)
	case e.OOMKilled():
		return "signal: killed, at the memory limit of its container (OOM)"
	case e.Signal == syscall.SIGKILL && !e.Requested:
		return "signal: killed, not by its agent"
	}
	return "signal: " + e.Signal.String()
}
