package wire

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

// taskQueue holds what other goroutines want a core to run.
type taskQueue struct {
	mu      sync.Mutex
	tasks   []func()
	spare   []func()
	pending atomic.Bool
	closed  bool
}

// add adds a task and wakes the core. It returns false when the core has ended and will not run
// the task.
func (b *taskQueue) add(do func(), p *poller) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.tasks = append(b.tasks, do)
	if !b.pending.Swap(true) {
		p.wake()
	}
	return true
}

func (b *taskQueue) hasTasks() bool { return b.pending.Load() }

func (b *taskQueue) runAll() {
	if !b.pending.Load() {
		return
	}
	b.mu.Lock()
	b.pending.Store(false)
	todo := b.tasks
	b.tasks = b.spare[:0]
	b.mu.Unlock()
	for i, do := range todo {
		do()
		todo[i] = nil
	}
	b.spare = todo[:0]
}

// close runs the tasks that are left and accepts no more.
func (b *taskQueue) close() {
	b.mu.Lock()
	b.closed = true
	b.pending.Store(true)
	b.mu.Unlock()
	b.runAll()
}

// timers are for what is rare: connection attempts and checks of connections. Calls have queues of
// their own.
type timers struct{ heap timerHeap }

type timer struct {
	at        time.Duration
	fire      func()
	heapIndex int // -1: fired or removed
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.heapIndex = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	t.heapIndex = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

func (t *timers) add(at time.Duration, do func()) *timer {
	added := &timer{at: at, fire: do}
	heap.Push(&t.heap, added)
	return added
}

// remove removes a timer. It may be nil or have fired.
func (t *timers) remove(added *timer) {
	if added != nil && added.heapIndex >= 0 {
		heap.Remove(&t.heap, added.heapIndex)
	}
}

func (t *timers) next() (time.Duration, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

func (t *timers) fire(now time.Duration) {
	for n := len(t.heap); n > 0 && len(t.heap) > 0 && t.heap[0].at <= now; n-- {
		heap.Pop(&t.heap).(*timer).fire()
	}
}
