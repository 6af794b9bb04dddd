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

// requestTimeout is how long an agent may take to respond to a request.
const requestTimeout = 10 * time.Second

// ErrDisconnected means that the connection to an agent broke, or that another stream attached. Then the
// state of the program is unknown; attach again to learn it.
var ErrDisconnected = errors.New("the connection to its agent was lost")

// Target is a program to attach to, and the agent that runs it.
type Target struct {
	Name  string // unique in the cluster: caller-0
	Host  string // the pod's address
	Token string // the agent's token; empty: none
	// Args are the program to start and its arguments; empty: the agent's own program.
	Args []string
}

// Process is a program that an agent runs, used like a child process.
type Process struct {
	target Target
	client rpclabv1.AgentClient
	pid    int64
	id     string
	ctx    context.Context // the stream's context
	cancel context.CancelFunc
	out    *output
	done   chan struct{}

	sending sync.Mutex
	stream  rpclabv1.Agent_AttachClient

	log string // valid after done is closed
	err error  // valid after done is closed
}

// Dial creates a channel to an agent, which connects at the first call. dial opens its connections; nil:
// over TCP. Keepalive detects a broken connection within 20 s.
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

// Attach makes an agent start a program, or attaches to the agent's own program, and returns when the
// program runs. The end of ctx cancels only this attempt. Call Kill to end the program, or Detach to end
// the stream.
func Attach(ctx context.Context, conn grpc.ClientConnInterface, p Target) (*Process, error) {
	a := &Process{target: p, client: rpclabv1.NewAgentClient(conn), out: newOutput(), done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(a.withToken(context.Background()))
	stopCancel := context.AfterFunc(ctx, a.cancel)
	var err error
	if a.stream, err = a.client.Attach(a.ctx, grpc.WaitForReady(true)); err == nil {
		err = a.start()
	}
	if !stopCancel() && err == nil { // ctx ended at the same time
		err = ctx.Err()
	}
	if err != nil {
		a.cancel()
		return nil, fmt.Errorf("attach to %s: %w", p.Name, errors.Join(ctx.Err(), err))
	}
	go a.receiveOutput()
	return a, nil
}

// withToken returns a context whose calls send the token.
func (p *Process) withToken(ctx context.Context) context.Context {
	if p.target.Token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.target.Token)
}

func (p *Process) start() error {
	start := &rpclabv1.ToProcess{Message: &rpclabv1.ToProcess_Start{Start: &rpclabv1.Start{Args: p.target.Args}}}
	if err := p.stream.Send(start); err != nil && err != io.EOF { // Recv returns the reason
		return err
	}
	first, err := p.stream.Recv()
	if err != nil {
		return err
	}
	if first.GetStarted() == nil {
		return errors.New("the agent's first message must be started")
	}
	p.pid, p.id = first.GetStarted().Pid, first.GetStarted().Id
	return nil
}

// receiveOutput receives output until the program exits or the connection breaks.
func (p *Process) receiveOutput() {
	defer close(p.done)
	defer p.cancel()
	defer p.out.end()
	for {
		message, err := p.stream.Recv()
		if err != nil {
			p.err = fmt.Errorf("%w: %w", ErrDisconnected, err)
			return
		}
		switch m := message.Message.(type) {
		case *rpclabv1.FromProcess_Stdout:
			p.out.write(m.Stdout)
		case *rpclabv1.FromProcess_Ended:
			p.log = m.Ended.Log
			p.err = exitError(m.Ended)
			return
		}
	}
}

// Name returns the name, which is unique in the cluster.
func (p *Process) Name() string { return p.target.Name }

// Host returns the pod's address.
func (p *Process) Host() string { return p.target.Host }

// ID identifies this start of the program. A later [Attach] to the same program returns the same ID.
func (p *Process) ID() string { return p.id }

// Stdout returns the output of the program. The program blocks when the output is not read and all
// buffers are full.
func (p *Process) Stdout() io.Reader { return p.out }

// Done returns a channel that closes when the program has exited or the connection broke.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the program exited: nil for exit code 0, an [*Ended], or [ErrDisconnected].
// Call it only after [Process.Done].
func (p *Process) Err() error { return p.err }

// Log returns the last lines of the program's standard error, or "" if the agent does not respond.
func (p *Process) Log() string {
	select {
	case <-p.done:
		return p.log
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	used, err := p.client.Usage(p.withToken(ctx), &rpclabv1.UsageRequest{Pid: p.pid})
	if err != nil {
		return ""
	}
	return used.Log
}

// Signal sends a signal to the program. It does nothing if the program has exited.
func (p *Process) Signal(ctx context.Context, s syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	_, err := p.client.Signal(p.withToken(ctx), &rpclabv1.SignalRequest{Pid: p.pid, Signal: int32(s)})
	if s == syscall.SIGKILL && status.Code(err) == codes.Unavailable {
		// An agent exits with its own program, sometimes before it sends the response.
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
		}
	}
	if err != nil {
		return fmt.Errorf("signal %s: %w", p.target.Name, err)
	}
	return nil
}

// Kill kills the program and returns when it has exited. Output that was not read is lost. If the agent does
// not respond, Kill only ends the stream.
func (p *Process) Kill() {
	p.out.discard()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
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

// Detach ends the stream. The agent then keeps its own program running, or kills the program that the stream
// started. Err returns [ErrDisconnected] then.
func (p *Process) Detach() {
	p.out.discard()
	p.cancel()
	<-p.done
}
