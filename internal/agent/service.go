package agent

import (
	"context"
	"errors"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// errReplaced is why a stream ends when a new stream attaches.
var errReplaced = errors.New("another stream has attached to this agent")

// expired is a deadline that ends reads and writes at once.
var expired = time.Unix(1, 0)

type attachServer = rpclabv1.Agent_AttachServer

// Attach implements the service. It carries input and output until the program has exited or the stream
// ends. The goroutine that sends output may outlive Attach, because a blocked send ends only with the stream.
func (a *Agent) Attach(stream attachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "the first message must be start")
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	t := &attachment{end: cancel, detached: make(chan struct{})}
	if err := a.replaceAttached(ctx, t); err != nil {
		return err
	}
	c, own, err := a.program(start.Args)
	if err != nil {
		close(t.detached)
		return err
	}
	sent := make(chan error, 1)
	go func() {
		defer close(t.detached)
		interrupted := make(chan struct{})
		stopInterrupt := context.AfterFunc(ctx, func() {
			defer close(interrupted)
			c.setDeadline(expired)
		})
		err := c.sendOutput(stream)
		if !stopInterrupt() {
			<-interrupted
		}
		t.stopInput(c)
		if !own {
			c.kill()
			c.out.Close()
		}
		sent <- err
	}()
	go t.receiveInput(stream, c)
	select {
	case err = <-sent:
	case <-ctx.Done(): // a blocked send ends with the stream
		err = context.Cause(ctx)
	}
	if errors.Is(err, errReplaced) {
		return status.Error(codes.Aborted, err.Error())
	}
	return err
}

// replaceAttached ends the attached stream and waits until t may attach. If several streams wait, only the
// last one attaches.
func (a *Agent) replaceAttached(ctx context.Context, t *attachment) error {
	a.mu.Lock()
	before := a.attached
	a.attached = t
	a.mu.Unlock()
	if before == nil {
		return nil
	}
	before.end(errReplaced)
	<-before.detached
	if ctx.Err() != nil {
		close(t.detached)
		return status.Error(codes.Aborted, context.Cause(ctx).Error())
	}
	return nil
}

// program returns the agent's own program, if it has one, or else starts the program in args.
func (a *Agent) program(args []string) (c *child, own bool, err error) {
	a.mu.Lock()
	own, stopping := len(a.Command) > 0, a.stopping
	c = a.child
	a.mu.Unlock()
	switch {
	case own && len(args) > 0:
		return nil, own, status.Errorf(codes.FailedPrecondition, "this agent has its own program, %q, and starts no other: attach without args", a.Command)
	case own:
		return c, own, nil
	case len(args) == 0 || args[0] == "":
		return nil, own, status.Error(codes.InvalidArgument, "this agent has no program of its own: args must name one")
	case stopping:
		return nil, own, status.Error(codes.Unavailable, "this agent is stopping")
	}
	if c, err = a.start(args); err != nil {
		return nil, own, status.Errorf(codes.FailedPrecondition, "%v", err)
	}
	return c, own, nil
}

// sendOutput sends the output of the program, and then how the program exited.
func (c *child) sendOutput(stream attachServer) error {
	started := &rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Started{Started: &rpclabv1.Started{Pid: c.pid(), Id: c.id}}}
	if err := stream.Send(started); err != nil {
		return err
	}
	for {
		output := make([]byte, maxChunk)
		n, err := c.read(output)
		if n > 0 {
			if err := stream.Send(&rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Stdout{Stdout: output[:n]}}); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	select {
	case <-c.exited:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	return stream.Send(&rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Ended{Ended: c.ended()}})
}

// receiveInput passes input to the program until the stream ends.
func (t *attachment) receiveInput(stream attachServer, c *child) {
	for {
		message, err := stream.Recv()
		if err != nil {
			return
		}
		t.mu.Lock()
		if !t.inputStopped {
			switch m := message.Message.(type) {
			case *rpclabv1.ToProcess_Stdin:
				_, _ = c.process.Stdin.Write(m.Stdin) // the program may have closed its input
			case *rpclabv1.ToProcess_CloseStdin:
				_ = c.process.Stdin.Close()
			default:
				t.end(status.Error(codes.InvalidArgument, "after start a message must be stdin or close_stdin"))
			}
		}
		t.mu.Unlock()
	}
}

// stopInput ends a blocked write of input, and discards later input.
func (t *attachment) stopInput(c *child) {
	c.setDeadline(expired)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inputStopped = true
	c.setDeadline(time.Time{})
}

// Signal implements the service.
func (a *Agent) Signal(_ context.Context, r *rpclabv1.SignalRequest) (*rpclabv1.SignalReply, error) {
	c, err := a.childByPID(r.Pid)
	if err != nil {
		return nil, err
	}
	if r.Signal < 1 || r.Signal > 31 {
		return nil, status.Errorf(codes.InvalidArgument, "signal %d is not in 1 to 31", r.Signal)
	}
	if err := c.signal(syscall.Signal(r.Signal)); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &rpclabv1.SignalReply{}, nil
}

// Usage implements the service.
func (a *Agent) Usage(_ context.Context, r *rpclabv1.UsageRequest) (*rpclabv1.UsageReply, error) {
	if a.observed != nil {
		return a.observed.usage(r.Reset_)
	}
	c, err := a.childByPID(r.Pid)
	if err != nil {
		return nil, err
	}
	return c.usage(r.Reset_), nil
}

// childByPID returns the program if it has this process ID, so that no request reaches a later
// program.
func (a *Agent) childByPID(pid int64) (*child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.child == nil || a.child.pid() != pid {
		return nil, status.Errorf(codes.NotFound, "this agent has no process %d", pid)
	}
	return a.child, nil
}
