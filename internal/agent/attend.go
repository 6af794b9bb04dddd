package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// errTakenOver is why a stream ends whose place another one takes.
var errTakenOver = errors.New("another stream attends to this agent now")

// longAgo is a deadline for those who are to wait no longer.
var longAgo = time.Unix(1, 0)

type attendance = rpclabv1.Agent_AttendServer

// turn is one stream's time with the program.
type turn struct {
	end  context.CancelCauseFunc
	gone chan struct{} // closed when the program is the next one's

	mu   sync.Mutex
	left bool // it writes no more input
}

// Attend implements the service.
func (a *Agent) Attend(stream attendance) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "the first message has to be start")
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	t := &turn{end: cancel, gone: make(chan struct{})}
	if err := a.take(ctx, t); err != nil {
		return err
	}
	c, own, err := a.program(start.Args)
	if err != nil {
		close(t.gone)
		return err
	}
	told := make(chan error, 1)
	go func() {
		defer close(t.gone)
		hurried := make(chan struct{})
		calm := context.AfterFunc(ctx, func() {
			defer close(hurried)
			c.wait(longAgo)
		})
		err := c.tell(stream)
		if !calm() {
			<-hurried
		}
		t.leave(c)
		if !own {
			c.kill()
			c.out.Close()
		}
		told <- err
	}()
	go t.hear(stream, c)
	select {
	case err = <-told:
	case <-ctx.Done(): // and what is being sent to nobody ends with the stream
		err = context.Cause(ctx)
	}
	if errors.Is(err, errTakenOver) {
		return status.Error(codes.Aborted, err.Error())
	}
	return err
}

// take ends who attends, and waits until the program is there for t. Of several that come
// together the last has it.
func (a *Agent) take(ctx context.Context, t *turn) error {
	a.mu.Lock()
	before := a.turn
	a.turn = t
	a.mu.Unlock()
	if before == nil {
		return nil
	}
	before.end(errTakenOver)
	<-before.gone
	if ctx.Err() != nil {
		close(t.gone)
		return status.Error(codes.Aborted, context.Cause(ctx).Error())
	}
	return nil
}

// program is the agent's own, or one that is started now.
func (a *Agent) program(args []string) (c *child, own bool, err error) {
	a.mu.Lock()
	own, ending := len(a.Command) > 0, a.ending
	c = a.child
	a.mu.Unlock()
	switch {
	case own && len(args) > 0:
		return nil, own, status.Errorf(codes.FailedPrecondition, "this agent has a program of its own, %q, and starts no other: attend to it without args", a.Command)
	case own:
		return c, own, nil
	case len(args) == 0 || args[0] == "":
		return nil, own, status.Error(codes.InvalidArgument, "this agent has no program of its own: say in args which to start")
	case ending:
		return nil, own, status.Error(codes.Unavailable, "this agent was told to end")
	}
	if c, err = a.start(args); err != nil {
		return nil, own, status.Errorf(codes.FailedPrecondition, "%v", err)
	}
	return c, own, nil
}

// tell sends what the program writes, and how it ended.
func (c *child) tell(stream attendance) error {
	started := &rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Started{Started: &rpclabv1.Started{Pid: c.pid()}}}
	if err := stream.Send(started); err != nil {
		return err
	}
	for {
		output := make([]byte, chunk)
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
	case <-c.over:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	return stream.Send(&rpclabv1.FromProcess{Message: &rpclabv1.FromProcess_Ended{Ended: c.ended()}})
}

// hear gives the program its input until the stream ends.
func (t *turn) hear(stream attendance, c *child) {
	for {
		message, err := stream.Recv()
		if err != nil {
			return
		}
		t.mu.Lock()
		if !t.left {
			switch m := message.Message.(type) {
			case *rpclabv1.ToProcess_Stdin:
				_, _ = c.process.Stdin.Write(m.Stdin) // who reads no more has its reasons
			case *rpclabv1.ToProcess_CloseStdin:
				_ = c.process.Stdin.Close()
			default:
				t.end(status.Error(codes.InvalidArgument, "after start a message has to be stdin or close_stdin"))
			}
		}
		t.mu.Unlock()
	}
}

// leave waits for input that is being written, and lets no more in.
func (t *turn) leave(c *child) {
	c.wait(longAgo)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
	c.wait(time.Time{})
}
