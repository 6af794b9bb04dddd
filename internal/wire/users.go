package wire

import "time"

// user is a user of a closed pace. answered is when the last response came, since the start of the
// load; before the first call it is what the pace returned from First.
type user struct {
	id       int
	answered time.Duration
}

// userQueue is a queue of users in a ring that grows to their number.
type userQueue struct {
	ring  []user
	first int
	n     int
}

func (q *userQueue) push(u user) {
	if q.n == len(q.ring) {
		ring := make([]user, max(16, 2*len(q.ring))) // a power of two
		for i := range q.n {
			ring[i] = q.ring[(q.first+i)&(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = u
	q.n++
}

func (q *userQueue) pop() user {
	u := q.ring[q.first]
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return u
}

// thinkingUser is a user whose next call is due later.
type thinkingUser struct {
	due  time.Duration
	n    uint64
	user int
}

// thinkingHeap is a binary heap with the earliest call first.
type thinkingHeap []thinkingUser

func (h *thinkingHeap) push(t thinkingUser) {
	*h = append(*h, t)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].due <= a[i].due {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *thinkingHeap) pop() thinkingUser {
	a := *h
	top := a[0]
	last := len(a) - 1
	a[0] = a[last]
	*h = a[:last]
	a = a[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(a) && a[down].due < a[least].due {
				least = down
			}
		}
		if least == i {
			return top
		}
		a[least], a[i] = a[i], a[least]
		i = least
	}
}
