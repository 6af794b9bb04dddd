package workload

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// sleep returns after a pause, or returns the status of ctx if ctx ends before. On Linux it is exact to about
// 50 µs. The runtime's timers are up to a millisecond late in an idle process, because epoll_wait(2) counts in
// milliseconds.
func sleep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	w := &sleeper{until: time.Now().Add(pause), done: make(chan struct{}), place: -1}
	if !allSleepers.add(w) {
		defer time.AfterFunc(pause, func() { close(w.done) }).Stop()
	}
	select {
	case <-w.done:
		allSleepers.wakeDue() // a busy process reads the alarm late
		return nil
	case <-ctx.Done():
		allSleepers.remove(w)
		return status.FromContextError(ctx.Err()).Err()
	}
}

var allSleepers sleepers

// sleepers are the goroutines that sleep. While there are any, one more goroutine waits for the alarm of the
// first of them.
type sleepers struct {
	mu      sync.Mutex
	queue   sleeperQueue
	alarm   alarm
	waiting bool // a goroutine waits for the alarm
}

type sleeper struct {
	until time.Time
	done  chan struct{}
	place int // in the queue; -1: it is not there
}

// add returns false if there is no alarm, because this process has no more files.
func (s *sleepers) add(w *sleeper) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.alarm.open() {
		return false
	}
	heap.Push(&s.queue, w)
	if w.place == 0 {
		s.alarm.set(w.until)
	}
	if !s.waiting {
		s.waiting = true
		go s.wait()
	}
	return true
}

// wait wakes sleepers until there are none.
func (s *sleepers) wait() {
	for {
		s.alarm.wait()
		s.mu.Lock()
		s.wake()
		if s.waiting = len(s.queue) > 0; !s.waiting {
			s.mu.Unlock()
			return
		}
		s.alarm.set(s.queue[0].until)
		s.mu.Unlock()
	}
}

func (s *sleepers) wakeDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// wake wakes the sleepers that are due. Call it with s.mu held.
func (s *sleepers) wake() {
	for now := time.Now(); len(s.queue) > 0 && !s.queue[0].until.After(now); {
		close(heap.Pop(&s.queue).(*sleeper).done)
	}
}

func (s *sleepers) remove(w *sleeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.place < 0 {
		return
	}
	heap.Remove(&s.queue, w.place)
	if len(s.queue) == 0 {
		s.alarm.set(time.Now()) // so that wait ends
	}
}

// sleeperQueue is a [heap.Interface] whose first sleeper is due first.
type sleeperQueue []*sleeper

func (q sleeperQueue) Len() int           { return len(q) }
func (q sleeperQueue) Less(i, j int) bool { return q[i].until.Before(q[j].until) }

func (q sleeperQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements [heap.Interface].
func (q *sleeperQueue) Push(w any) {
	w.(*sleeper).place = len(*q)
	*q = append(*q, w.(*sleeper))
}

// Pop implements [heap.Interface].
func (q *sleeperQueue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q, w.place = (*q)[:last], -1
	return w
}
