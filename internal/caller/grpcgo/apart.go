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
	"rpclab/internal/caller/calculator"
)

// apart sends questions as unary calls, and hears answers over a stream of each backend. One
// that breaks is resumed: what the backend could not send comes over the next.
type apart struct {
	session *Calculations
	*listening

	opening sync.Mutex // one opens streams at a time
	mu      sync.Mutex
	heard   map[string]int // streams of each backend
	opened  uint64
}

func newApart(s *Calculations) *apart {
	return &apart{session: s, listening: newListening(), heard: map[string]int{}}
}

// A backend that has no stream of ours says so; which ones there are, the channel alone knows.
func (a *apart) send(ctx context.Context, n uint64, call *calculator.Call, message []byte) error {
	if err := a.first(ctx); err != nil {
		return err
	}
	a.session.Put(call, a)
	outgoing, err := a.session.outgoing(ctx)
	if err != nil {
		return err
	}
	service := rpclabv1.NewCalculatorServiceClient(a.session.channel(n))
	for {
		var trailer metadata.MD
		_, err := service.PerformCalculationTo(outgoing, &rpclabv1.Calculation{Signed: message}, grpc.Trailer(&trailer))
		if status.Code(err) != codes.FailedPrecondition {
			return err
		}
		if err := a.more(ctx, identity(trailer)); err != nil {
			return err
		}
	}
}

// first opens a stream if there is none.
func (a *apart) first(ctx context.Context) error {
	if a.backends() > 0 {
		return nil
	}
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.backends() > 0 {
		return nil
	}
	return a.open(ctx)
}

// more opens one stream more, for want of one of this backend.
func (a *apart) more(ctx context.Context, backend string) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.hears(backend) { // who was before us opened it
		return ctx.Err()
	}
	return a.open(ctx)
}

func (a *apart) hears(backend string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[backend] > 0
}

func (a *apart) backends() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.heard)
}

// open opens a stream, which outlives ctx, in which it has to be open. The channel may take it
// to a backend that has one: then answers come over either, so that both are read.
func (a *apart) open(ctx context.Context) error {
	outgoing, err := a.session.outgoing(a.ctx)
	if err != nil {
		return err
	}
	own, end := context.WithCancel(outgoing)
	defer context.AfterFunc(ctx, end)()
	service := rpclabv1.NewCalculatorServiceClient(a.session.channel(a.opened))
	a.opened++
	stream, err := service.PerformCalculationFrom(own, &emptypb.Empty{})
	if err != nil {
		end()
		return err
	}
	header, err := stream.Header()
	if err == nil && header == nil { // it ended without one
		_, err = stream.Recv()
	}
	if err != nil {
		end()
		return err
	}
	backend := identity(header)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard[backend]++
	a.done.Go(func() {
		defer end()
		a.read(stream, backend)
	})
	return nil
}

// read hears answers until the stream ends, and then has it resumed.
func (a *apart) read(stream grpc.ServerStreamingClient[rpclabv1.Calculation], backend string) {
	err := a.hear(stream, backend)
	a.mu.Lock()
	if a.heard[backend]--; a.heard[backend] == 0 {
		delete(a.heard, backend)
	}
	a.mu.Unlock()
	if errors.Is(err, errWrong) {
		a.session.Fail(nil, calculator.Wrong, err.Error())
	}
	a.resume(backend)
}

// The pauses between attempts to resume a stream, and how many there are: a backend that is
// gone for longer is so for good, or the next call there opens its stream.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
	attempts   = 20
)

// resume opens a stream in the place of one that broke.
func (a *apart) resume(backend string) {
	pause := firstPause
	for range attempts {
		timer := time.NewTimer(pause)
		select {
		case <-a.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		ctx, cancel := context.WithTimeout(a.ctx, a.session.timeout)
		_ = a.more(ctx, backend) // then once more
		cancel()
		if a.hears(backend) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

func (a *apart) hear(stream grpc.ServerStreamingClient[rpclabv1.Calculation], backend string) error {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the server closed it")
		}
		if err != nil {
			return err
		}
		if err := a.session.Hear(answer.Signed, backend); err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
	}
}
