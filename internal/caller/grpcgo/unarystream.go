package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
)

// unaryStream sends requests as unary calls and receives responses over one stream from each
// backend. When a stream breaks, unaryStream opens another, which receives the unsent responses.
type unaryStream struct {
	session *CalculatorSession
	*readers

	opening sync.Mutex // held while a stream is opened
	mu      sync.Mutex
	streams map[string]int // number of streams by backend
	opened  uint64
}

func newUnaryStream(s *CalculatorSession) *unaryStream {
	return &unaryStream{session: s, readers: newReaders(), streams: map[string]int{}}
}

// send makes the unary call. A backend without a stream of this client answers
// FAILED_PRECONDITION; only then does the client learn which backend needs one.
func (u *unaryStream) send(ctx context.Context, n uint64, call *calculator.Call, message []byte) (wait time.Duration, err error) {
	if err := u.ensureStream(ctx); err != nil {
		return 0, err
	}
	u.session.Register(call, u)
	outgoing, err := u.session.outgoing(ctx)
	if err != nil {
		return 0, err
	}
	for {
		var trailer metadata.MD
		waited, err := Invoke(outgoing, u.session.channel(n), protobuf, rpclabv1.CalculatorService_PerformCalculationTo_FullMethodName,
			&rpclabv1.Calculation{Signed: message}, new(emptypb.Empty), grpc.Trailer(&trailer))
		if wait += waited; status.Code(err) != codes.FailedPrecondition {
			return wait, err
		}
		if err := u.openStreamTo(ctx, backendOf(trailer)); err != nil {
			return wait, err
		}
	}
}

// ensureStream opens a stream if there is none.
func (u *unaryStream) ensureStream(ctx context.Context) error {
	if u.backends() > 0 {
		return nil
	}
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.backends() > 0 {
		return nil
	}
	return u.open(ctx)
}

// openStreamTo opens another stream, because this backend has no stream.
func (u *unaryStream) openStreamTo(ctx context.Context, backend string) error {
	u.opening.Lock()
	defer u.opening.Unlock()
	if u.hasStream(backend) { // opened while waiting for the lock
		return ctx.Err()
	}
	return u.open(ctx)
}

func (u *unaryStream) hasStream(backend string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.streams[backend] > 0
}

func (u *unaryStream) backends() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.streams)
}

// open opens a stream before ctx ends. The stream outlives ctx. The channel may choose a backend
// that has a stream already; that backend then sends over both.
func (u *unaryStream) open(ctx context.Context) error {
	outgoing, err := u.session.outgoing(u.ctx)
	if err != nil {
		return err
	}
	streamContext, end := context.WithCancel(outgoing)
	defer context.AfterFunc(ctx, end)()
	service := rpclabv1.NewCalculatorServiceClient(u.session.channel(u.opened))
	u.opened++
	stream, err := service.PerformCalculationFrom(streamContext, &emptypb.Empty{})
	if err != nil {
		end()
		return err
	}
	header, err := stream.Header()
	if err == nil && header == nil { // the stream ended without a header
		_, err = stream.Recv()
	}
	if err != nil {
		end()
		return err
	}
	backend := backendOf(header)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.streams[backend]++
	u.done.Go(func() {
		defer end()
		u.read(stream, backend)
	})
	return nil
}

// read receives responses until the stream ends, and then opens another.
func (u *unaryStream) read(stream grpc.ServerStreamingClient[rpclabv1.Calculation], backend string) {
	err := u.receive(stream, backend)
	u.mu.Lock()
	if u.streams[backend]--; u.streams[backend] == 0 {
		delete(u.streams, backend)
	}
	u.mu.Unlock()
	if errors.Is(err, errWrongResponse) {
		u.session.Fail(nil, caller.DataLoss, err.Error())
	}
	u.resume(backend)
}

// Delays between attempts to reopen a stream. After the last attempt the backend counts as gone. If
// the backend returns, the next call to it opens a stream.
const (
	minResumeDelay    = 5 * time.Millisecond
	maxResumeDelay    = time.Second
	maxResumeAttempts = 20
)

// resume opens a stream in place of one that broke.
func (u *unaryStream) resume(backend string) {
	pause := minResumeDelay
	for range maxResumeAttempts {
		timer := time.NewTimer(pause)
		select {
		case <-u.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(u.ctx, u.session.timeout)
		_ = u.openStreamTo(ctx, backend) // on failure the loop tries again
		cancel()
		if u.hasStream(backend) {
			return
		}
		pause = min(2*pause, maxResumeDelay)
	}
}

func (u *unaryStream) receive(stream grpc.ServerStreamingClient[rpclabv1.Calculation], backend string) error {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the server closed the stream")
		}
		if err != nil {
			return err
		}
		if err := u.session.Deliver(answer.Signed, backend); err != nil {
			return fmt.Errorf("%w: %w", errWrongResponse, err)
		}
	}
}
