package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// patience is how long an agent may take to do what it is asked.
const patience = 10 * time.Second

// ErrLost says that the way to an agent broke, or another took it: what became of the
// program is not known. One that is the agent's own may live on: attend to it again.
var ErrLost = errors.New("the way to its agent was lost")

// Place is a program in a pod.
type Place struct {
	Name  string // unique in the cluster: caller-0
	Host  string // the pod's address
	Token string // that the agent wants; empty: none
	// Args are what the agent starts, a program and its arguments; none: the program that it
	// has already.
	Args []string
}

// Process is a program behind an agent. It is what the lab has of a child of its own.
type Process struct {
	place  Place
	client rpclabv1.AgentClient
	pid    int64
	ctx    context.Context // of the stream
	cancel context.CancelFunc
	out    *outbox
	done   chan struct{}

	sending sync.Mutex
	stream  rpclabv1.Agent_AttendClient

	log string // in the end; only after done
	err error
}

// Dial leads to an agent; nothing is dialled before the first call. dial may be nil, for
// TCP. A way that broke without a word is noticed within 20 s.
func Dial(address string, dial func(ctx context.Context, address string) (net.Conn, error)) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
	if dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
	}
	return grpc.NewClient("passthrough:///"+address, options...)
}

// Attend starts a program by the agent that conn leads to, or takes up the one that the
// agent has, and returns when it runs. ctx is for that alone: end it by Kill or Detach.
func Attend(ctx context.Context, conn grpc.ClientConnInterface, p Place) (*Process, error) {
	a := &Process{place: p, client: rpclabv1.NewAgentClient(conn), out: newOutbox(), done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(a.bearing(context.Background()))
	hurry := context.AfterFunc(ctx, a.cancel)
	var err error
	if a.stream, err = a.client.Attend(a.ctx, grpc.WaitForReady(true)); err == nil {
		err = a.begin()
	}
	if !hurry() && err == nil { // it was too late in the same moment
		err = ctx.Err()
	}
	if err != nil {
		a.cancel()
		return nil, fmt.Errorf("attend to %s: %w", p.Name, errors.Join(ctx.Err(), err))
	}
	go a.follow()
	return a, nil
}

// bearing is a context whose calls the agent admits.
func (p *Process) bearing(ctx context.Context) context.Context {
	if p.place.Token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.place.Token)
}

func (p *Process) begin() error {
	start := &rpclabv1.ToProcess{Message: &rpclabv1.ToProcess_Start{Start: &rpclabv1.Start{Args: p.place.Args}}}
	if err := p.stream.Send(start); err != nil && err != io.EOF { // whose reason Recv tells
		return err
	}
	first, err := p.stream.Recv()
	if err != nil {
		return err
	}
	if first.GetStarted() == nil {
		return errors.New("the agent spoke before it had started anything")
	}
	p.pid = first.GetStarted().Pid
	return nil
}

// follow takes what the program writes until it ends, or the way to it does.
func (p *Process) follow() {
	defer close(p.done)
	defer p.cancel()
	defer p.out.end()
	for {
		message, err := p.stream.Recv()
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrLost, err)
			return
		}
		switch m := message.Message.(type) {
		case *rpclabv1.FromProcess_Stdout:
			p.out.put(m.Stdout)
		case *rpclabv1.FromProcess_Ended:
			p.log = m.Ended.Log
			p.err = how(m.Ended)
			return
		}
	}
}

// Name is unique in the cluster.
func (p *Process) Name() string { return p.place.Name }

// Host is the pod's address.
func (p *Process) Host() string { return p.place.Host }

// Out is what the program writes. It has to be read, or the program waits in the end.
func (p *Process) Out() io.Reader { return p.out }

// Done closes when the program is gone, or the way to it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the program ended: nil for exit code 0, an [*Ended], or [ErrLost]. Only
// after [Process.Done].
func (p *Process) Err() error { return p.err }

// Log is the last lines of the program's standard error; empty where the agent cannot be
// asked any more.
func (p *Process) Log() string {
	select {
	case <-p.done:
		return p.log
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	used, err := p.client.Usage(p.bearing(ctx), &rpclabv1.UsageRequest{Pid: p.pid})
	if err != nil {
		return ""
	}
	return used.Log
}

// Signal sends the program a signal; one that has ended is no error.
func (p *Process) Signal(ctx context.Context, s syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	_, err := p.client.Signal(p.bearing(ctx), &rpclabv1.SignalRequest{Pid: p.pid, Signal: int32(s)})
	if s == syscall.SIGKILL && status.Code(err) == codes.Unavailable {
		// An agent goes with the program that is its own, and with it at times its answer.
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
		}
	}
	if err != nil {
		return fmt.Errorf("signal %s: %w", p.place.Name, err)
	}
	return nil
}

// Kill ends the program at once and returns when it is gone. What it wrote and nobody has
// read by then is gone too. Where its agent cannot be told it only loses the way to it.
func (p *Process) Kill() {
	p.out.drop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Signal(ctx, syscall.SIGKILL); err != nil {
		p.cancel()
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.cancel()
		<-p.done
	}
}

// Detach leaves the program to its agent, which lets one of its own live on, and ends one
// that it was told to start. Done closes, with [ErrLost].
func (p *Process) Detach() {
	p.out.drop()
	p.cancel()
	<-p.done
}
