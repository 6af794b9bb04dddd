package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"rpclab/internal/lab"
)

// maxQueued is how many runs can wait for the run in progress.
const maxQueued = 8

// queue conducts one run at a time, because two runs would disturb each other.
type queue struct {
	conduct func(context.Context, *Run)
	show    func([]queuedRun) // shows the queued runs to followers
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex
	queued []*Run
	busy   bool
}

func newQueue(conduct func(context.Context, *Run), show func([]queuedRun)) *queue {
	q := &queue{conduct: conduct, show: show}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Run is a run that a page started.
type Run struct {
	ID      string
	Plan    lab.Plan
	Command string // command line that makes the same run
	queued  bool   // behind other runs
}

// add starts a run or queues it, and returns its position in the queue.
func (q *queue) add(run *Run) (place int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return 0, problem{http.StatusServiceUnavailable, "The server is stopping."}
	}
	if len(q.queued) >= maxQueued {
		return 0, problem{http.StatusTooManyRequests, fmt.Sprintf("The queue is full with %d runs; remove one, or try again later.", maxQueued)}
	}
	if q.busy {
		run.queued = true
		q.queued = append(q.queued, run)
		q.publish()
		return len(q.queued), nil
	}
	q.busy = true
	q.working.Go(func() { q.work(run) })
	return 0, nil
}

// work conducts a run and the queued runs after it.
func (q *queue) work(run *Run) {
	for ; run != nil; run = q.next() {
		q.conduct(q.ctx, run)
	}
}

func (q *queue) next() (run *Run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queued) == 0 || q.ctx.Err() != nil {
		q.busy = false
		return nil
	}
	run, q.queued = q.queued[0], q.queued[1:]
	q.publish()
	return run
}

// remove removes a queued run.
func (q *queue) remove(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.queued)
	q.queued = slices.DeleteFunc(q.queued, func(run *Run) bool { return run.ID == id })
	q.publish()
	return len(q.queued) < before
}

// publish shows the queue to followers.
func (q *queue) publish() {
	all := []queuedRun{}
	for _, run := range q.queued {
		all = append(all, queuedRun{run.ID, run.Plan.Name, len(run.Plan.Trials)})
	}
	q.show(all)
}

func (q *queue) close() {
	q.cancel()
	q.working.Wait()
}
