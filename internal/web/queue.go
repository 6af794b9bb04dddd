package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"rpclab/internal/result"
)

// maxQueued is how many runs can wait for the run in progress.
const maxQueued = 8

// queue conducts one run at a time, because two runs would disturb each other.
type queue struct {
	s       *Server
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex
	queued []*Run
	busy   bool
}

func newQueue(s *Server) *queue {
	q := &queue{s: s}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// add starts a run or queues it, and returns its position in the queue.
func (q *queue) add(j *Run) (place int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return 0, problem{http.StatusServiceUnavailable, "The server is stopping."}
	}
	if len(q.queued) >= maxQueued {
		return 0, problem{http.StatusTooManyRequests, fmt.Sprintf("The queue is full with %d runs; remove one, or try again later.", maxQueued)}
	}
	if q.busy {
		q.queued = append(q.queued, j)
		q.publish()
		return len(q.queued), nil
	}
	q.busy = true
	q.working.Go(func() { q.work(j) })
	return 0, nil
}

// work conducts a run and the queued runs after it.
func (q *queue) work(j *Run) {
	for j != nil {
		ctx, stop := context.WithTimeout(q.ctx, maxRunTime)
		show, end := q.s.Follow(j.Plan.Plan, j.ID, stop)
		d, err := q.s.Conduct(ctx, *j, show)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("the run was stopped after the limit of %v", maxRunTime)
		}
		end(d, err)
		stop()
		j = q.next()
	}
}

func (q *queue) next() (j *Run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queued) == 0 || q.ctx.Err() != nil {
		q.busy = false
		return nil
	}
	j, q.queued = q.queued[0], q.queued[1:]
	q.publish()
	return j
}

// remove removes a queued run.
func (q *queue) remove(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.queued)
	q.queued = slices.DeleteFunc(q.queued, func(j *Run) bool { return j.ID == id })
	q.publish()
	return len(q.queued) < before
}

// publish shows the queue to followers.
func (q *queue) publish() {
	all := []queuedRun{}
	for _, j := range q.queued {
		all = append(all, queuedRun{j.ID, j.Plan.Name, len(j.Plan.Trials)})
	}
	q.s.live.setQueue(all)
}

func (q *queue) close() {
	q.cancel()
	q.working.Wait()
}

// queuedRun is a run in the queue.
type queuedRun struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	Planned    int    `json:"planned"`
}

// endPhase returns the phase of a run that ended, and why.
func endPhase(d result.Document, err error) (phase, why string) {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return "failed", err.Error()
	case d.Partial || err != nil:
		return "partial", "The run was stopped before its last trial."
	}
	return "done", ""
}
