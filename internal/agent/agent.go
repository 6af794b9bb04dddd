// Package agent lets rpclab control a program in a pod like a child process. An [Agent] runs in the pod and
// starts the program. Over gRPC it carries the program's standard input and output, sends it signals, and
// reports its resource usage and exit status. A [Process] is the program on rpclab's side
// (docs/decisions/0015).
package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/security"
)

const (
	// maxChunk is the largest input or output in one message.
	maxChunk = 32 << 10
	// maxMessage is the largest message, such as one with a program's arguments.
	maxMessage = 1 << 20
	// finalTimeout is how long an attached stream may take to receive the exit status.
	finalTimeout = 10 * time.Second
)

// Agent runs one program at a time.
type Agent struct {
	rpclabv1.UnimplementedAgentServer

	// Command is the agent's own program, with arguments; empty: each stream names its program.
	Command []string
	// Self is the path of rpclab. The agent starts it for a program named "rpclab".
	Self string
	// Observe is the process ID of a program of another container, which the agent measures and does not control; 0:
	// none. Both containers share a process namespace.
	Observe int
	Token   string    // every request must have this token; empty: no token needed
	Stderr  io.Writer // receives the standard error of programs
	Log     *slog.Logger

	observed *observed // nil: no program
	orphans  reaper
	mu       sync.Mutex
	stopping bool        // no program may start any more
	child    *child      // the latest program; nil: none has started
	attached *attachment // the latest stream; nil: none has attached
}

// attachment is one stream's connection to the program.
type attachment struct {
	end      context.CancelCauseFunc // ends the stream
	detached chan struct{}           // closed when the next stream may attach

	mu           sync.Mutex
	inputStopped bool // no more input is written to the program
}

// Serve starts the agent's own program, if there is one, and serves until that program exits or ctx ends.
// When ctx ends, Serve stops the running program with SIGTERM and waits until it exits. status is the exit
// status for the agent's process: that of its own program as in a shell (137 after SIGKILL), or else 143
// after the end of ctx.
func (a *Agent) Serve(ctx context.Context, listener net.Listener) (status int, err error) {
	stop, err := a.orphans.adopt()
	if err != nil {
		return 0, err
	}
	defer stop()
	if a.Observe > 0 {
		if a.Observe == os.Getpid() {
			return 0, fmt.Errorf("agent: process %d is this agent, so it does not share a process namespace with the program", a.Observe)
		}
		a.observed = &observed{pid: a.Observe, before: measure.ReadProcessorTimes()}
	}
	exited := make(chan struct{})
	if len(a.Command) > 0 {
		own, err := a.start(a.Command)
		if err != nil {
			listener.Close()
			return 0, err
		}
		exited = own.exited
		defer func() {
			own.kill()
			status = own.status()
		}()
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.UnaryInterceptor(a.authorizeCall), grpc.StreamInterceptor(a.authorizeStream),
		// Keepalive detects a broken connection, so that its program ends.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	rpclabv1.RegisterAgentServer(server, a)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	a.Log.Info("serving", "address", listener.Addr().String())
	select {
	case err := <-served:
		return 0, fmt.Errorf("agent: %w", err)
	case <-exited:
	case <-ctx.Done():
		if a.observed != nil { // to measure the program until it exits
			select {
			case err := <-served:
				return 0, fmt.Errorf("agent: %w", err)
			case <-a.observed.exited():
			}
		}
		a.stop()
		if len(a.Command) == 0 { // a status other than 0 makes the Job start another pod
			status = 128 + int(syscall.SIGTERM)
		}
	}
	deadline := time.AfterFunc(finalTimeout, server.Stop)
	defer deadline.Stop()
	server.GracefulStop()
	<-served
	return status, nil
}

// stop stops the program and waits until it exits. No program can start afterwards.
func (a *Agent) stop() {
	a.mu.Lock()
	a.stopping = true
	c := a.child
	a.mu.Unlock()
	if c != nil {
		c.terminate()
		<-c.exited
	}
}

// start starts a program, which becomes the latest one.
func (a *Agent) start(args []string) (*child, error) {
	if args[0] == "rpclab" {
		args = append([]string{a.Self}, args[1:]...)
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{id: rand.Text(), out: out, exited: make(chan struct{}), oomKills: measure.OOMKills(), before: measure.ReadProcessorTimes()}
	c.process, err = a.orphans.exempt(func() (*process.Process, error) {
		return process.Start(process.Spec{Args: args, Stdout: in, Log: a.Stderr})
	})
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	a.mu.Lock()
	a.child = c
	stopping := a.stopping
	a.mu.Unlock()
	if stopping {
		c.terminate()
	}
	go func() {
		<-c.process.Done()
		_ = out.SetReadDeadline(time.Now().Add(outputGrace)) // ends a blocked read
		close(c.exited)
	}()
	return c, nil
}

func (a *Agent) authorizeCall(ctx context.Context, request any, _ *grpc.UnaryServerInfo, serve grpc.UnaryHandler) (any, error) {
	if err := a.authorize(ctx); err != nil {
		return nil, err
	}
	return serve(ctx, request)
}

func (a *Agent) authorizeStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, serve grpc.StreamHandler) error {
	if err := a.authorize(stream.Context()); err != nil {
		return err
	}
	return serve(server, stream)
}

func (a *Agent) authorize(ctx context.Context) error {
	if a.Token != "" && !security.CallHasBearer(ctx, a.Token) {
		return status.Error(codes.Unauthenticated, "this agent requires its token as metadata: authorization: Bearer …")
	}
	return nil
}
