// Package agent makes a program in a pod what a child process is on one machine: an
// agent stands before it and gives the lab its standard input and output, signals, what
// it used and how it ended, over gRPC (docs/decisions/0015).
package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	rpclabv1 "rpclab/api/rpclab/v1"
)

const (
	// chunk is how much input or output one message carries, at most.
	chunk = 32 << 10
	// largest is how much a message may have; a program's arguments come in one.
	largest = 1 << 20
	// farewell is how long whoever attends may take to hear how the program ended.
	farewell = 10 * time.Second
)

// Agent stands before one program at a time.
type Agent struct {
	rpclabv1.UnimplementedAgentServer

	// Command is the program that the agent has of its own; empty: it starts what it is
	// told to.
	Command []string
	// Self is the program that `rpclab` stands for.
	Self   string
	Token  string    // that callers bear; empty: none
	Stderr io.Writer // hears what programs write to their standard error
	Log    *slog.Logger

	orphans reaper
	mu      sync.Mutex
	ending  bool
	child   *child // the one that runs, or ran last; nil: none so far
	turn    *turn  // of who attends, or attended last
}

// Serve starts the agent's own program, if it has one, and answers until that ends or ctx
// does: then the program is told to end (SIGTERM) and awaited. status is what a shell
// would say of how the agent's own program ended: 137 after SIGKILL; without one it is the
// agent's own end.
func (a *Agent) Serve(ctx context.Context, listener net.Listener) (status int, err error) {
	stop, err := a.orphans.adopt()
	if err != nil {
		return 0, err
	}
	defer stop()
	over := make(chan struct{})
	if len(a.Command) > 0 {
		own, err := a.start(a.Command)
		if err != nil {
			listener.Close()
			return 0, err
		}
		over = own.over
		defer func() {
			own.kill()
			status = own.status()
		}()
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(largest), grpc.UnaryInterceptor(a.admitCall), grpc.StreamInterceptor(a.admitStream),
		// A way that broke without a word is noticed, so that its program ends.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	rpclabv1.RegisterAgentServer(server, a)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	a.Log.Info("attending", "address", listener.Addr().String())
	select {
	case err := <-served:
		return 0, fmt.Errorf("agent: %w", err)
	case <-over:
	case <-ctx.Done():
		a.end()
		if len(a.Command) == 0 { // a job whose pod ends so starts another one
			status = 128 + int(syscall.SIGTERM)
		}
	}
	patience := time.AfterFunc(farewell, server.Stop)
	defer patience.Stop()
	server.GracefulStop()
	<-served
	return status, nil
}

// end tells the program to end and waits until it has. None is started any more.
func (a *Agent) end() {
	a.mu.Lock()
	a.ending = true
	c := a.child
	a.mu.Unlock()
	if c != nil {
		c.terminate()
		<-c.over
	}
}
