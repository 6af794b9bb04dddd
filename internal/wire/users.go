package wire

import "time"

// user is a user of a closed pace. ended is when the last response arrived, since the start of the
// load; before the first call it is what the pace returned from First.
type user struct {
	id    int
	ended time.Duration
}

// userQueue is a queue of users in a ring that grows to their number.
type userQueue struct {
	ring  []user
	first int
	n     int
}

func (q *userQueue) push(next user) {
	if q.n == len(q.ring) {
		ring := make([]user, max(16, 2*len(q.ring))) // a power of two
		for i := range q.n {
			ring[i] = q.ring[(q.first+i)&(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = next
	q.n++
}

func (q *userQueue) pop() user {
	user := q.ring[q.first]
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return user
}

// thinkingUser is a user whose next call is due later.
type thinkingUser struct {
	due  time.Duration
	n    uint64
	user int
}

// thinkingHeap is a binary heap with the earliest call first.
type thinkingHeap []thinkingUser

func (h *thinkingHeap) push(added thinkingUser) {
	*h = append(*h, added)
	users := *h
	for i := len(users) - 1; i > 0; {
		up := (i - 1) / 2
		if users[up].due <= users[i].due {
			return
		}
		users[up], users[i] = users[i], users[up]
		i = up
	}
}

func (h *thinkingHeap) pop() thinkingUser {
	users := *h
	top := users[0]
	last := len(users) - 1
	users[0] = users[last]
	*h = users[:last]
	users = users[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(users) && users[down].due < users[least].due {
				least = down
			}
		}
		if least == i {
			return top
		}
		users[least], users[i] = users[i], users[least]
		i = least
	}
}
