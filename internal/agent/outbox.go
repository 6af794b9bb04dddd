package agent

import (
	"io"
	"sync"
)

// room is how much output may wait for its reader before the program has to.
const room = 256 << 10

// outbox is a pipe with some room in it, so that a program's end is heard although its
// last lines are not read yet.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	ended   bool
	dropped bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed.L = &o.mu
	return o
}

// put waits until there is room.
func (o *outbox) put(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) >= room && !o.dropped {
		o.changed.Wait()
	}
	if !o.dropped {
		o.waiting = append(o.waiting, b...)
		o.changed.Broadcast()
	}
}

// end says that no more is put.
func (o *outbox) end() { o.set(&o.ended) }

// drop forgets what waits and all that is put from now on.
func (o *outbox) drop() { o.set(&o.dropped) }

func (o *outbox) set(flag *bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*flag = true
	if o.dropped {
		o.waiting = nil
	}
	o.changed.Broadcast()
}

// Read implements [io.Reader].
func (o *outbox) Read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) == 0 && !o.ended && !o.dropped {
		o.changed.Wait()
	}
	if len(o.waiting) == 0 {
		return 0, io.EOF
	}
	n := copy(b, o.waiting)
	o.waiting = o.waiting[n:]
	o.changed.Broadcast()
	return n, nil
}
