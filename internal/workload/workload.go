// Package workload is what a call does: the Go servers under test, and the requests
// that callers send them.
package workload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Trailer is the key of the trailing metadata in which every answer carries the
// identity of its backend.
const Trailer = "rpclab-backend"

// Spec is a workload as it crosses a process: exactly one field is set.
type Spec struct {
	Greet     *Greet     `json:"greet,omitempty"`
	Fibonacci *Fibonacci `json:"fibonacci,omitempty"`
	Increment *Increment `json:"increment,omitempty"`
}

// Fibonacci is Fibonacci/Compute of study 1: n from From to To in turn.
type Fibonacci struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Increment is Counter/Increment of study 1: a counter in every backend.
type Increment struct{}

// Greet is Greeter/SayHello, answered after a delay.
type Greet struct {
	Delay time.Duration `json:"delay"`
	// Workers is how many calls a backend waits for at once, while others queue; 0: all.
	Workers int `json:"workers,omitempty"`
}

// Unary is a workload as a caller sees it.
type Unary struct {
	Method string // full, with slashes
	// Request is call n's message; it is shared by calls and not to be changed.
	Request func(n uint64) proto.Message
	// Reply is a message to read an answer into.
	Reply func() proto.Message
	// Check says what is wrong with an answer, given the identity in its trailer.
	Check func(reply proto.Message, backend string) error
}

// Unary returns the calls of the workload.
func (s Spec) Unary() (Unary, error) {
	if s.Greet == nil {
		return Unary{}, fmt.Errorf("a workload has to be named: greet")
	}
	request := &rpclabv1.HelloRequest{Name: "rpclab"}
	want := greeting(request.Name)
	return Unary{
		Method:  rpclabv1.Greeter_SayHello_FullMethodName,
		Request: func(uint64) proto.Message { return request },
		Reply:   func() proto.Message { return new(rpclabv1.HelloReply) },
		Check: func(m proto.Message, backend string) error {
			reply := m.(*rpclabv1.HelloReply)
			if reply.Message != want || reply.Backend != backend || backend == "" {
				return fmt.Errorf("wrong answer %q by %q, trailer %q", reply.Message, reply.Backend, backend)
			}
			return nil
		},
	}, nil
}

// ServerArgs are the arguments of `rpclab server` that make it serve the workload.
func (s Spec) ServerArgs() []string {
	if s.Greet == nil {
		return nil
	}
	args := []string{"--delay", s.Greet.Delay.String()}
	if s.Greet.Workers > 0 {
		args = append(args, "--workers", strconv.Itoa(s.Greet.Workers))
	}
	return args
}

// greeter is the server of study 2.
type greeter struct {
	rpclabv1.UnimplementedGreeterServer
	id    string
	delay time.Duration
	room  chan struct{} // for those who wait at once; nil: for all
}

func (g greeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if g.room != nil {
		select {
		case g.room <- struct{}{}:
			defer func() { <-g.room }()
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	if err := wait(ctx, g.delay); err != nil {
		return nil, err
	}
	return &rpclabv1.HelloReply{Message: greeting(request.Name), Backend: g.id}, nil
}

func greeting(name string) string { return "Hello, " + name }
