package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
)

// both sends questions over two-way streams, in turn, and reads their answers there. A stream
// that breaks ends the calls on it, and the next question opens another in its place.
type both struct {
	session *Calculations
	*listening
	places []*place
}

// place is that of a stream.
type place struct {
	number uint64

	mu     sync.Mutex // also for who sends
	stream *twoWay    // nil: the next question opens one
}

type twoWay struct {
	grpc.BidiStreamingClient[rpclabv1.Calculation, rpclabv1.Calculation]
	end context.CancelFunc
}

func newBoth(s *Calculations, streams int) *both {
	b := &both{session: s, listening: newListening()}
	for n := range streams {
		b.places = append(b.places, &place{number: uint64(n)})
	}
	return b
}

func (b *both) send(ctx context.Context, n uint64, call *calculator.Call, message []byte) error {
	p := b.places[n%uint64(len(b.places))]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil { // others were sending until now
		return status.FromContextError(err).Err()
	}
	if p.stream == nil {
		stream, err := b.open(ctx, p)
		if err != nil {
			return err
		}
		p.stream = stream
	}
	b.session.Put(call, p.stream)
	// A server that does not read stops who sends. A question that waits too long for that
	// takes its stream along: half of it may be on its way.
	defer context.AfterFunc(ctx, p.stream.end)()
	err := p.stream.Send(&rpclabv1.Calculation{Signed: message})
	if errors.Is(err, io.EOF) {
		return nil // whoever reads the stream learns why, and ends the call
	}
	return err
}

// open opens a stream, which outlives ctx, in which it has to be open.
func (b *both) open(ctx context.Context, p *place) (*twoWay, error) {
	outgoing, err := b.session.outgoing(b.ctx)
	if err != nil {
		return nil, err
	}
	own, end := context.WithCancel(outgoing)
	defer context.AfterFunc(ctx, end)()
	stream, err := rpclabv1.NewCalculatorServiceClient(b.session.channel(p.number)).PerformCalculationBi(own)
	if err != nil {
		end()
		return nil, err
	}
	t := &twoWay{stream, end}
	b.done.Go(func() { b.read(p, t) })
	return t, nil
}

// read hears answers until the stream ends.
func (b *both) read(p *place, t *twoWay) {
	err := b.hear(t)
	t.end()
	p.mu.Lock()
	p.stream = nil
	p.mu.Unlock()
	code := caller.Code(err)
	if errors.Is(err, errWrong) {
		code = calculator.Wrong
	}
	b.session.Fail(t, code, "the stream ended before the answer: "+err.Error())
}

func (b *both) hear(t *twoWay) error {
	header, err := t.Header()
	if err != nil {
		return err
	}
	for {
		answer, err := t.Recv()
		if errors.Is(err, io.EOF) {
			return errors.New("the server closed it")
		}
		if err != nil {
			return err
		}
		if err := b.session.Hear(answer.Signed, identity(header)); err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
	}
}
