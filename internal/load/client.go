package load

import (
	"context"
	"os"
	"time"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
)

// Client makes the calls of a load. Its connections are open.
type Client interface {
	// Run makes the calls of a pace and reports them to live, which may be nil. When ctx ends,
	// Run starts no further calls and cancels those in flight. Outcomes of calls are in the
	// recorder, never in the error.
	Run(context.Context, pace.Pace, *Progress) (*measure.Recorder, time.Time, error)
	// ReplyBytes returns the size of the last response message, or 0.
	ReplyBytes() int
	Close() error
}

// sendFunc makes one call.
type sendFunc func(ctx context.Context, n uint64, message []byte) caller.Outcome

// runCalls makes the calls of a pace in goroutines.
func runCalls(ctx context.Context, plan pace.Pace, messages *data.Messages, templates metadataTemplates, timeout time.Duration, live *Progress, send sendFunc) (*measure.Recorder, time.Time, error) {
	ids := newWorkerIDs(plan.InFlight(), messages.Templated() || len(templates) > 0)
	do := func(ctx context.Context, n uint64) caller.Outcome {
		if live != nil {
			live.CallStarted()
		}
		id := ids.acquire()
		defer ids.release(id)
		message, err := messages.For(data.Call{Number: n, Worker: id})
		if err != nil {
			return caller.Outcome{Code: "INTERNAL", Message: "create the message: " + err.Error()}
		}
		if len(templates) > 0 {
			md, err := templates.gRPC(data.Call{Number: n, Worker: id})
			if err != nil {
				return caller.Outcome{Code: "INTERNAL", Message: "create the metadata: " + err.Error()}
			}
			fixed, _ := metadata.FromOutgoingContext(ctx)
			ctx = metadata.NewOutgoingContext(ctx, metadata.Join(fixed, md))
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return send(ctx, n, message)
	}
	var ended func(measure.Call)
	if live != nil {
		ended = live.CallEnded
	}
	recorder, start := caller.Run(ctx, plan, measure.StartSignal{}, 0, do, ended)
	return recorder, start, nil
}

// workerIDs number the calls in flight, for templates with .Worker.
type workerIDs chan int

// newWorkerIDs returns n numbers; used is false if no template needs them.
func newWorkerIDs(n int, used bool) workerIDs {
	if !used {
		return nil
	}
	all := make(workerIDs, n)
	for i := range n {
		all <- i
	}
	return all
}

func (ids workerIDs) acquire() int {
	if ids == nil {
		return 0
	}
	return <-ids
}

func (ids workerIDs) release(id int) {
	if ids != nil {
		ids <- id
	}
}

// measureRun runs a load and adds the resources that this process used.
func measureRun(run func() (*measure.Recorder, time.Time, error)) (measured measure.Measurement, err error) {
	before, err := measure.CPU(os.Getpid())
	if err != nil {
		return measured, err
	}
	recorder, started, err := run()
	if err != nil {
		return measured, err
	}
	after, err := measure.CPU(os.Getpid())
	if err != nil {
		return measured, err
	}
	if measured, err = recorder.Measurement(); err != nil {
		return measured, err
	}
	measured.Started, measured.CPU = started, after-before
	measured.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return measured, err
}
