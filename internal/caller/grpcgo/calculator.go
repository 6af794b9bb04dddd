package grpcgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/caller/calculator"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// Calculations is a session with the calculator.
type Calculations struct {
	*calculator.Client
	timeout, late time.Duration
	ahead         string
	apart         bool // questions are unary calls
	channels      []*grpc.ClientConn
	way           interface {
		// send returns when a question is on its way, or why it is not. The call has been put
		// on that way then.
		send(ctx context.Context, n uint64, call *calculator.Call, message []byte) error
		close()
	}
}

// OpenCalculations opens a session with a calculator. It fails where the job is of another
// workload, or its client has not the keys that it needs.
func OpenCalculations(job caller.Job, target caller.Target) (*Calculations, error) {
	count, err := job.Channels.Count()
	switch {
	case err != nil:
		return nil, err
	case job.Calculations == nil || job.Workload.Calculate == nil || count == 0 || job.Hedge != nil || job.Stream != nil:
		return nil, errors.New("a style of calculations goes with the workload calculate, over channels that stay open, without hedge and stream")
	}
	how := *job.Calculations
	client, err := calculator.New(how, *job.Workload.Calculate)
	if err != nil {
		return nil, err
	}
	secured, err := how.Party.ClientCredentials()
	if err != nil {
		return nil, err
	}
	options := append(DialOptions(target), grpc.WithTransportCredentials(secured))
	if job.Compress {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	s := &Calculations{Client: client, timeout: job.Timeout, late: job.Late, ahead: how.Ahead}
	for range count {
		channel, err := grpc.NewClient(target.URI, options...)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.channels = append(s.channels, channel)
	}
	switch how.Style {
	case caller.Bidi:
		s.way = newBoth(s, max(1, how.Streams))
	case caller.UnaryStream:
		s.way, s.apart = newApart(s), true
	default:
		return nil, errors.Join(fmt.Errorf("no style %q: take one of %v", how.Style, caller.Styles), s.Close())
	}
	return s, nil
}

// Run implements [caller.Session].
func (s *Calculations) Run(ctx context.Context, p pace.Pace, cue measure.Cue) (*measure.Recorder, time.Time, error) {
	if s.ahead != "" {
		recorder, start := caller.DriveAhead(ctx, p, cue, s.late, s.Begin)
		return recorder, start, nil
	}
	recorder, start := caller.Drive(ctx, p, cue, s.late, func(ctx context.Context, n uint64) (backend, code, message string) {
		return s.Begin(ctx, n)()
	}, nil)
	return recorder, start, nil
}

// Begin returns when question n is on its way, with what waits for its answer.
func (s *Calculations) Begin(ctx context.Context, n uint64) (end func() (backend, code, message string)) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	call, message, err := s.Ask()
	var taken chan error // nil: it is known
	switch {
	case err != nil:
	case s.ahead == caller.Sent && s.apart:
		taken = make(chan error, 1)
		go func() { taken <- s.way.send(ctx, n, call, message) }()
	default:
		err = s.way.send(ctx, n, call, message)
	}
	return func() (string, string, string) {
		defer cancel()
		if taken != nil && err == nil {
			err = <-taken
		}
		if err != nil {
			s.GiveUp(call)
			return "", caller.Code(err), err.Error()
		}
		select {
		case o := <-call.Done():
			return o.Backend, o.Code, o.Message
		case <-ctx.Done():
			s.GiveUp(call)
			err := status.FromContextError(ctx.Err()).Err()
			return "", caller.Code(err), "the question was sent, and not answered: " + err.Error()
		}
	}
}

// Close implements [caller.Session].
func (s *Calculations) Close() error {
	if s.way != nil {
		s.way.close()
	}
	var errs []error
	for _, channel := range s.channels {
		errs = append(errs, channel.Close())
	}
	return errors.Join(errs...)
}

func (s *Calculations) channel(n uint64) *grpc.ClientConn {
	return s.channels[n%uint64(len(s.channels))]
}

// outgoing is ctx with the metadata of a call that begins.
func (s *Calculations) outgoing(ctx context.Context) (context.Context, error) {
	pairs, err := s.Metadata()
	return metadata.AppendToOutgoingContext(ctx, pairs...), err
}

// listening are goroutines that read streams, until they are told to end.
type listening struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

func newListening() *listening {
	l := &listening{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *listening) close() {
	l.stop()
	l.done.Wait()
}
