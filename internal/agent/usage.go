package agent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Usage is the resources that a program has used since ResetUsage, or since it started.
type Usage struct {
	CPU    time.Duration // user and system time
	MaxRSS uint64        // peak of resident memory, bytes
	// Throttled is how long its container waited for its CPU quota.
	Throttled time.Duration
	// Stolen is the share of CPU time that a hypervisor took from the node (steal time).
	Stolen float64
}

// Usage reads the usage. It may fail after the program has exited.
func (p *Process) Usage(ctx context.Context) (Usage, error) {
	return p.usage(ctx, &rpclabv1.UsageRequest{Pid: p.pid})
}

// ResetUsage starts a new measurement.
func (p *Process) ResetUsage(ctx context.Context) error {
	_, err := p.usage(ctx, &rpclabv1.UsageRequest{Pid: p.pid, Reset_: true})
	return err
}

func (p *Process) usage(ctx context.Context, r *rpclabv1.UsageRequest) (Usage, error) {
	used, err := p.client.Usage(p.withToken(ctx), r)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", p.target.Name, err)
	}
	return Usage{CPU: time.Duration(used.CpuNs), MaxRSS: used.MaxRss, Throttled: time.Duration(used.ThrottledNs), Stolen: used.Stolen}, nil
}

// Ended is the exit of a program with another exit code than 0.
type Ended struct {
	ExitCode int            // -1: by a signal
	Signal   syscall.Signal // 0: none
	// Asked says that the exit was requested. Other SIGKILLs come mostly from the kernel, for
	// memory.
	Asked bool
	// OOMKills is how many processes of its container the kernel killed at the container's
	// memory limit while it ran.
	OOMKills uint64
}

func exitError(e *rpclabv1.Ended) error {
	if e.ExitCode == 0 {
		return nil
	}
	return &Ended{ExitCode: int(e.ExitCode), Signal: syscall.Signal(e.Signal), Asked: e.Asked, OOMKills: e.OomKills}
}

// OOMKilled says that the kernel killed the program at its container's memory limit.
func (e *Ended) OOMKilled() bool {
	return e.Signal == syscall.SIGKILL && !e.Asked && e.OOMKills > 0
}

// Error implements error, in the words of package os.
func (e *Ended) Error() string {
	switch {
	case e.Signal == 0:
		return fmt.Sprintf("exit status %d", e.ExitCode)
	case e.OOMKilled():
		return "signal: killed, at the memory limit of its container (OOM)"
	case e.Signal == syscall.SIGKILL && !e.Asked:
		return "signal: killed, not by its agent"
	}
	return "signal: " + e.Signal.String()
}
