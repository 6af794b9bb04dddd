package wire

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

// inbox is what other goroutines ask a core to do.
type inbox struct {
	mu     sync.Mutex
	todo   []func()
	spare  []func()
	any    atomic.Bool
	closed bool
}

// put adds to the inbox; false: the core has ended and nobody will do it.
func (b *inbox) put(do func(), p *poller) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.todo = append(b.todo, do)
	if !b.any.Swap(true) {
		p.wake()
	}
	return true
}

func (b *inbox) filled() bool { return b.any.Load() }

func (b *inbox) do() {
	if !b.any.Load() {
		return
	}
	b.mu.Lock()
	b.any.Store(false)
	todo := b.todo
	b.todo = b.spare[:0]
	b.mu.Unlock()
	for i, do := range todo {
		do()
		todo[i] = nil
	}
	b.spare = todo[:0]
}

// close does what is left and takes no more.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.any.Store(true)
	b.mu.Unlock()
	b.do()
}

// timers are for what is rare: attempts to connect, a look at a connection. Calls have
// queues of their own.
type timers struct{ heap timerHeap }

type timer struct {
	at    time.Duration
	do    func()
	place int // in the heap; -1: not there any more
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.place = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	t.place = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

func (t *timers) add(at time.Duration, do func()) *timer {
	one := &timer{at: at, do: do}
	heap.Push(&t.heap, one)
	return one
}

// remove forgets a timer, also nil and one that has fired.
func (t *timers) remove(one *timer) {
	if one != nil && one.place >= 0 {
		heap.Remove(&t.heap, one.place)
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
		heap.Pop(&t.heap).(*timer).do()
	}
}
