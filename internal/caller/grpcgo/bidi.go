package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
)

// bidiStreams sends requests over bidirectional streams in turn. A stream that breaks fails the
// calls on it, and the next request opens another stream in its slot.
type bidiStreams struct {
	session *CalculatorSession
	*readers
	slots []*streamSlot
}

// streamSlot holds one stream.
type streamSlot struct {
	number uint64

	mu     sync.Mutex  // also serializes senders
	stream *bidiStream // nil: the next request opens one
}

type bidiStream struct {
	grpc.BidiStreamingClient[rpclabv1.Calculation, rpclabv1.Calculation]
	end context.CancelFunc
}

func newBidiStreams(s *CalculatorSession, streams int) *bidiStreams {
	bidi := &bidiStreams{session: s, readers: newReaders()}
	for n := range streams {
		bidi.slots = append(bidi.slots, &streamSlot{number: uint64(n)})
	}
	return bidi
}

// send does not tell how long opening a stream takes, which few messages wait for.
func (b *bidiStreams) send(ctx context.Context, n uint64, call *calculator.Call, message []byte) (wait time.Duration, err error) {
	slot := b.slots[n%uint64(len(b.slots))]
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if err := ctx.Err(); err != nil { // may have ended while waiting for the lock
		return 0, status.FromContextError(err).Err()
	}
	if slot.stream == nil {
		stream, err := b.open(ctx, slot)
		if err != nil {
			return 0, err
		}
		slot.stream = stream
	}
	b.session.Register(call, slot.stream)
	// A server that does not read blocks the sender. A request that is blocked for too long
	// cancels the stream, because half of the request may have been written.
	defer context.AfterFunc(ctx, slot.stream.end)()
	err = slot.stream.Send(&rpclabv1.Calculation{Signed: message})
	if errors.Is(err, io.EOF) {
		return 0, nil // read returns the stream's error and fails the call
	}
	return 0, err
}

// open opens a stream before ctx ends. The stream outlives ctx.
func (b *bidiStreams) open(ctx context.Context, slot *streamSlot) (*bidiStream, error) {
	outgoing, err := b.session.outgoing(b.ctx)
	if err != nil {
		return nil, err
	}
	streamContext, end := context.WithCancel(outgoing)
	defer context.AfterFunc(ctx, end)()
	stream, err := rpclabv1.NewCalculatorServiceClient(b.session.channel(slot.number)).PerformCalculationBi(streamContext)
	if err != nil {
		end()
		return nil, err
	}
	opened := &bidiStream{stream, end}
	b.done.Go(func() { b.read(slot, opened) })
	return opened, nil
}

// read receives responses until the stream ends.
func (b *bidiStreams) read(slot *streamSlot, stream *bidiStream) {
	err := b.receive(stream)
	stream.end()
	slot.mu.Lock()
	slot.stream = nil
	slot.mu.Unlock()
	code := caller.Code(err)
	if errors.Is(err, errWrongResponse) {
		code = caller.DataLoss
	}
	b.session.Fail(stream, code, "the stream ended before the response: "+err.Error())
}

func (b *bidiStreams) receive(stream *bidiStream) error {
	header, err := stream.Header()
	if err != nil {
		return err
	}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the server closed the stream")
		}
		if err != nil {
			return err
		}
		if err := b.session.Deliver(answer.Signed, backendOf(header)); err != nil {
			return fmt.Errorf("%w: %w", errWrongResponse, err)
		}
	}
}
