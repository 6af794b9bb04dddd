package grpcgo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// CalculatorSession is a session with the calculator.
type CalculatorSession struct {
	*calculator.Client
	timeout, late time.Duration
	ahead         string
	unary         bool // style unary-stream
	channels      []*grpc.ClientConn
	turn          atomic.Uint64 // of the streams and channels. A load can be a short block, so the next one continues it.
	connecting    connectTime
	requests      interface {
		// send returns when a request was sent, after registering the call with its stream; for wait see
		// [NewStream].
		send(ctx context.Context, n uint64, call *calculator.Call, message []byte) (wait time.Duration, err error)
		close()
	}
}

// Run implements [caller.Session].
func (s *CalculatorSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (recorder *measure.Recorder, start time.Time, err error) {
	endConnecting := s.connecting.ofLoad()
	next := func(ctx context.Context, _ uint64) func() caller.Outcome { return s.Begin(ctx, s.turn.Add(1)-1) }
	if s.ahead != "" {
		recorder, start = caller.RunAsync(ctx, plan, signal, s.late, next)
	} else {
		recorder, start = caller.Run(ctx, plan, signal, s.late, func(ctx context.Context, n uint64) caller.Outcome {
			return next(ctx, n)()
		})
	}
	endConnecting(recorder)
	return recorder, start, nil
}

// Begin sends request n, whose stream and channel follow from n, and returns; end waits for the response.
func (s *CalculatorSession) Begin(ctx context.Context, n uint64) (end func() caller.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	call, message, err := s.NewCall()
	var wait time.Duration
	var sent chan error // receives the result of send, after wait is set; nil: send has returned
	switch {
	case err != nil:
	case s.ahead == caller.WhenSent && s.unary:
		sent = make(chan error, 1)
		go func() {
			var err error
			wait, err = s.requests.send(ctx, n, call, message)
			sent <- err
		}()
	default:
		wait, err = s.requests.send(ctx, n, call, message)
	}
	return func() caller.Outcome {
		defer cancel()
		if sent != nil && err == nil {
			err = <-sent
		}
		if err != nil {
			s.Abandon(call)
			return failed(err, wait)
		}
		select {
		case outcome := <-call.Done():
			outcome.Wait = wait
			return outcome
		case <-ctx.Done():
			s.Abandon(call)
			err := status.FromContextError(ctx.Err()).Err()
			return caller.Outcome{Code: caller.Code(err), Message: "the request was sent but not answered: " + err.Error(), Wait: wait}
		}
	}
}

// Close implements [caller.Session].
func (s *CalculatorSession) Close() error {
	if s.requests != nil {
		s.requests.close()
	}
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}

func (s *CalculatorSession) channel(n uint64) *grpc.ClientConn {
	return s.channels[n%uint64(len(s.channels))]
}

// outgoing returns ctx with the metadata of a new call.
func (s *CalculatorSession) outgoing(ctx context.Context) (context.Context, error) {
	pairs, err := s.Metadata()
	return metadata.AppendToOutgoingContext(ctx, pairs...), err
}

// readers are goroutines that read streams until close.
type readers struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

func newReaders() *readers {
	r := &readers{}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

func (r *readers) close() {
	r.stop()
	r.done.Wait()
}
