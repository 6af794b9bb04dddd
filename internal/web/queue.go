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

// mostWaiting is how many runs wait for the one that goes on.
const mostWaiting = 8

// queue conducts one run at a time: two at once would measure each other.
type queue struct {
	s       *Server
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup

	mu      sync.Mutex
	waiting []*Run
	busy    bool
}

func newQueue(s *Server) *queue {
	q := &queue{s: s}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// add takes a job and says how many are before it.
func (q *queue) add(j *Run) (place int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return 0, problem{http.StatusServiceUnavailable, "The server ends."}
	}
	if len(q.waiting) >= mostWaiting {
		return 0, problem{http.StatusTooManyRequests, fmt.Sprintf("%d runs wait already; stop one, or come back when one has ended.", mostWaiting)}
	}
	if q.busy {
		q.waiting = append(q.waiting, j)
		q.told()
		return len(q.waiting), nil
	}
	q.busy = true
	q.working.Go(func() { q.work(j) })
	return 0, nil
}

// work conducts a job and those that wait after it.
func (q *queue) work(j *Run) {
	for j != nil {
		ctx, stop := context.WithTimeout(q.ctx, mostTime)
		show, end := q.s.Follow(j.Plan, j.ID, stop)
		d, err := q.s.Conduct(ctx, *j, show)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it was stopped after %v", mostTime)
		}
		end(d, err)
		stop()
		j = q.next()
	}
}

func (q *queue) next() (j *Run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.ctx.Err() != nil {
		q.busy = false
		return nil
	}
	j, q.waiting = q.waiting[0], q.waiting[1:]
	q.told()
	return j
}

// remove takes a job out that waits.
func (q *queue) remove(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waiting)
	q.waiting = slices.DeleteFunc(q.waiting, func(j *Run) bool { return j.ID == id })
	q.told()
	return len(q.waiting) < before
}

// told shows who waits.
func (q *queue) told() {
	all := []waiting{}
	for _, j := range q.waiting {
		all = append(all, waiting{j.ID, j.Plan.Name, len(j.Plan.Trials)})
	}
	q.s.live.queued(all)
}

func (q *queue) close() {
	q.cancel()
	q.working.Wait()
}

// waiting is a run that waits.
type waiting struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	Planned    int    `json:"planned"`
}

// over says how a run ended.
func over(d result.Document, err error) (phase, why string) {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return "failed", err.Error()
	case d.Partial || err != nil:
		return "partial", "It was stopped before its last trial."
	}
	return "done", ""
}
