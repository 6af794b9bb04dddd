package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Limits of a queue.
const (
	mostWaiting = 1000             // requests
	requestTime = 10 * time.Second // of one request
	closingTime = 5 * time.Second  // of all requests after the end of the run
	firstPause  = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// errNoTime is the error of a request that was not answered when the time after the run was over.
var errNoTime = errors.New("no answer in the seconds after the run")

// Temporary is an error after which the same request may succeed later.
type Temporary struct{ Reason error }

// Error returns the reason.
func (t Temporary) Error() string { return t.Reason.Error() }

// Unwrap returns the reason.
func (t Temporary) Unwrap() error { return t.Reason }

// errFull is the error of a request that was not sent because a thousand others wait.
var errFull = errors.New("too many requests wait")

// Queue sends requests in the background, one after another in their order. A request that fails temporarily is sent
// again until it succeeds or the queue is closed.
type Queue struct {
	requests chan request
	full     atomic.Int64 // requests that found no room
	cancel   context.CancelFunc
	closing  time.Duration // that Close may take
	ended    chan struct{}
	// The following belong to the goroutine until ended is closed.
	sent, failed int
	err          error // the last
}

type request func(context.Context) error

// NewQueue returns a queue, which must be closed.
func NewQueue() *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	q := &Queue{requests: make(chan request, mostWaiting), cancel: cancel, closing: closingTime, ended: make(chan struct{})}
	go q.run(ctx)
	return q
}

// Add sends a request later. It returns at once.
func (q *Queue) Add(send func(context.Context) error) {
	select {
	case q.requests <- send:
	default:
		q.full.Add(1)
	}
}

// Close sends the requests that wait, for a few seconds. The error says how many requests failed, and why the last one
// did.
func (q *Queue) Close() error {
	close(q.requests)
	timer := time.AfterFunc(q.closing, q.cancel)
	<-q.ended
	timer.Stop()
	q.cancel()
	if n := int(q.full.Load()); n > 0 {
		q.failed, q.err = q.failed+n, errors.Join(q.err, errFull)
	}
	if q.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d requests failed: %w", q.failed, q.sent+q.failed, q.err)
}

func (q *Queue) run(ctx context.Context) {
	defer close(q.ended)
	for send := range q.requests {
		err := persist(ctx, send)
		switch {
		case err == nil:
			q.sent++
			continue
		case q.err == nil || !errors.Is(err, errNoTime): // an earlier error says more
			q.err = err
		}
		q.failed++
	}
}

// persist sends a request until it succeeds, fails for good, or ctx ends.
func persist(ctx context.Context, send request) error {
	err := errNoTime
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestWait) {
		limited, cancel := context.WithTimeout(ctx, requestTime)
		failed := send(limited)
		cancel()
		if _, temporary := errors.AsType[Temporary](failed); !temporary {
			return failed
		}
		if ctx.Err() == nil {
			err = failed
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return err
}
