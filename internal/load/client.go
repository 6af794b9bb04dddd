package load

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
)

// Client makes the calls of a load. Its connections are open.
type Client interface {
	caller.Session
	// ReplyBytes returns the size of the last response message, or 0.
	ReplyBytes() int
}

// sendFunc makes one call.
type sendFunc func(ctx context.Context, n uint64, message []byte) caller.Outcome

// runCalls makes the calls of a pace in goroutines. Their numbers follow those of the load before.
func runCalls(ctx context.Context, plan pace.Pace, numbers *data.Numbers, messages *data.Messages, templates metadataTemplates, timeout time.Duration, signal measure.StartSignal, send sendFunc) (*measure.Recorder, time.Time, error) {
	numbers.Next()
	ids := newWorkerIDs(plan.InFlight(), messages.Templated() || len(templates) > 0)
	do := func(ctx context.Context, n uint64) caller.Outcome {
		id := ids.acquire()
		defer ids.release(id)
		call := data.Call{Number: numbers.Of(n), Worker: id}
		message, err := messages.For(call)
		if err != nil {
			return caller.Outcome{Code: "INTERNAL", Message: "create the message: " + err.Error()}
		}
		if len(templates) > 0 {
			md, err := templates.gRPC(call)
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
	recorder, start := caller.Run(ctx, plan, signal, 0, do)
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
