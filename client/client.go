// Package client makes a program a client that rpclab measures: `caller: {command: [./my-client]}` in an experiment
// (docs/your-client.md). rpclab says when a call is due; the program makes the call as it always does.
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Job is what to call.
type Job struct {
	// Target is what to dial: host:port, or a URI that gRPC libraries understand.
	Target string `json:"target"`
	// Call is the name of the call in workload.call; empty: the experiment has another workload.
	Call string `json:"call"`
	// Timeout is the deadline of a call, which its context has.
	Timeout time.Duration `json:"timeout_ns"`
	// ServiceConfig is the gRPC service config of the route; empty: none. A client can ignore it.
	ServiceConfig string `json:"service_config"`
}

// Func makes one call. It is called from many goroutines at once. n is the number of the call, which no other call of
// the load has. The code of an error is that of [Error], else that of its gRPC status.
type Func func(ctx context.Context, n uint64) error

// Run opens the client with the job from rpclab, and makes calls until rpclab ends.
func Run(open func(Job) (Func, error)) error { return serve(os.Stdin, os.Stdout, open) }

// RunGRPC is [Run] for a client with one gRPC channel. newStub is the function that protoc generated, such as
// NewGreeterClient, and call makes one call, as a [Func] does. The channel is in clear text unless options have
// credentials.
func RunGRPC[Stub any](newStub func(grpc.ClientConnInterface) Stub, call func(ctx context.Context, stub Stub, n uint64) error, options ...grpc.DialOption) error {
	return Run(func(job Job) (Func, error) {
		channel, err := grpc.NewClient(job.Target, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)...)
		if err != nil {
			return nil, err
		}
		stub := newStub(channel)
		return func(ctx context.Context, n uint64) error { return call(ctx, stub, n) }, nil
	})
}

// Error returns an error of a call with a code of your own, such as TOO_FEW for a response with too few items. A code has
// at most 40 capital letters, digits and _.
func Error(code, message string) error { return &codedError{code, message} }

type codedError struct{ code, message string }

func (e *codedError) Error() string { return e.message }

// AnsweredBy says which backend answered the call of a context: its address or its name.
func AnsweredBy(ctx context.Context, backend string) {
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		o.Backend = backend
	}
}

type outcomeKey struct{}

type outcome struct {
	Call    uint64 `json:"call"`
	Sent    int64  `json:"sent"`
	Done    int64  `json:"done"`
	Code    any    `json:"code"` // the number of a gRPC status, or the code of an Error
	Message string `json:"message,omitempty"`
	Backend string `json:"backend,omitempty"`
}

// serve reads a job and the numbers of calls, and writes the outcomes.
func serve(in io.Reader, out io.Writer, open func(Job) (Func, error)) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return fmt.Errorf("no job on standard input: rpclab starts this program, by caller.command in an experiment")
	}
	var job Job
	if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
		return fmt.Errorf("the job: %w", err)
	}
	call, err := open(job)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, `{"ready": true}`); err != nil {
		return err
	}
	var writing sync.Mutex
	answers := json.NewEncoder(out)
	var pending sync.WaitGroup
	defer pending.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for lines.Scan() {
		n, err := strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 64)
		if err != nil {
			return fmt.Errorf("the number of a call: %w", err)
		}
		pending.Go(func() {
			o := measure(ctx, call, n, job.Timeout)
			writing.Lock()
			defer writing.Unlock()
			_ = answers.Encode(o) // rpclab has ended if that fails, and so does the input
		})
	}
	return lines.Err()
}

// measure makes a call and takes its time.
func measure(ctx context.Context, call Func, n uint64, timeout time.Duration) *outcome {
	o := &outcome{Call: n, Code: codes.OK}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, outcomeKey{}, o), timeout)
	defer cancel()
	started := time.Now()
	err := call(ctx, n)
	took := time.Since(started)
	o.Sent = started.UnixNano()
	o.Done = o.Sent + took.Nanoseconds()
	if err != nil {
		o.Code, o.Message = codeOf(err)
	}
	return o
}

// codeOf returns the code of an error, which is not OK.
func codeOf(err error) (code any, message string) {
	if own := (*codedError)(nil); errors.As(err, &own) && own.code != "" && own.code != "OK" {
		return own.code, err.Error()
	}
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	if s.Code() == codes.OK {
		return codes.Unknown, err.Error()
	}
	return s.Code(), s.Message()
}
