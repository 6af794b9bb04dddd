package agent

import (
	"context"
	"fmt"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Usage is the resources that a program has used since ResetUsage, or since it started.
type Usage struct {
	CPU    time.Duration // user and system time
	MaxRSS uint64        // peak resident memory, bytes
	// Throttled is how long the program's container waited for its CPU quota.
	Throttled time.Duration
	// Stolen is the steal time of the node, as a share of the CPU time that its processes wanted.
	Stolen float64
}

// Usage returns the usage. It may fail after the program has exited.
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
