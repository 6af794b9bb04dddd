package load

import (
	"context"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/load/data"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// Client makes the calls of a load over connections that are open already.
type Client interface {
	// Run makes the calls of a pace and tells live of them, which may be nil. When ctx
	// ends it makes no more and gives up those under way. What calls did is in the
	// recorder, never in the error.
	Run(context.Context, pace.Pace, *Live) (*measure.Recorder, time.Time, error)
	// ReplyBytes is the size of the last answer's message, 0 before the first.
	ReplyBytes() int
	Close() error
}

// send makes one call with a message: who answered, the code, and for a failed call
// what was said.
type send func(ctx context.Context, n uint64, message []byte) (backend, code, text string)

// drive makes the calls of a pace with goroutines.
func drive(ctx context.Context, p pace.Pace, messages *data.Messages, timeout time.Duration, live *Live, send send) (*measure.Recorder, time.Time, error) {
	lanes := newLanes(p.InFlight(), messages.Moving())
	do := func(ctx context.Context, n uint64) (backend, code, text string) {
		if live != nil {
			live.Began()
		}
		lane := lanes.take()
		defer lanes.give(lane)
		message, err := messages.At(data.Call{Number: n, Worker: lane})
		if err != nil {
			return "", "INTERNAL", "the message cannot be made: " + err.Error()
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return send(ctx, n, message)
	}
	var ended func(measure.Call)
	if live != nil {
		ended = live.Ended
	}
	recorder, start := caller.Drive(ctx, p, measure.Cue{}, 0, do, ended)
	return recorder, start, nil
}

// lanes number the calls in flight, for the templates that ask for it.
type lanes chan int

// newLanes returns so many lanes, or none when nobody asks for their numbers.
func newLanes(n int, asked bool) lanes {
	if !asked {
		return nil
	}
	all := make(lanes, n)
	for i := range n {
		all <- i
	}
	return all
}

func (l lanes) take() int {
	if l == nil {
		return 0
	}
	return <-l
}

func (l lanes) give(lane int) {
	if l != nil {
		l <- lane
	}
}
