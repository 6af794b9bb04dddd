package agent

import (
	"context"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Signal implements the service.
func (a *Agent) Signal(_ context.Context, r *rpclabv1.SignalRequest) (*rpclabv1.SignalReply, error) {
	c, err := a.named(r.Pid)
	if err != nil {
		return nil, err
	}
	if r.Signal < 1 || r.Signal > 31 {
		return nil, status.Errorf(codes.InvalidArgument, "signal %d: there are 1 to 31", r.Signal)
	}
	if err := c.signal(syscall.Signal(r.Signal)); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &rpclabv1.SignalReply{}, nil
}

// Usage implements the service.
func (a *Agent) Usage(_ context.Context, r *rpclabv1.UsageRequest) (*rpclabv1.UsageReply, error) {
	c, err := a.named(r.Pid)
	if err != nil {
		return nil, err
	}
	return c.usage(r.Reset_), nil
}

// named is the program that is meant, so that nothing meant for one hits the next.
func (a *Agent) named(pid int64) (*child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.child == nil || a.child.pid() != pid {
		return nil, status.Errorf(codes.NotFound, "this agent has no process %d, or no more", pid)
	}
	return a.child, nil
}
