package agent

import (
	"io"
	"sync"
)

// outputLimit is how much output is buffered before the program blocks.
const outputLimit = 256 << 10

// output is a pipe with a buffer. The buffer lets [Process] receive the exit of a program before anybody has
// read its last lines.
type output struct {
	mu        sync.Mutex
	changed   sync.Cond
	buffer    []byte
	ended     bool
	discarded bool
}

func newOutput() *output {
	o := &output{}
	o.changed.L = &o.mu
	return o
}

// write appends output to the buffer. It blocks while the buffer is full.
func (o *output) write(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buffer) >= outputLimit && !o.discarded {
		o.changed.Wait()
	}
	if !o.discarded {
		o.buffer = append(o.buffer, b...)
		o.changed.Broadcast()
	}
}

// end marks the end of the output.
func (o *output) end() { o.set(&o.ended) }

// discard discards the buffer and all later output.
func (o *output) discard() { o.set(&o.discarded) }

func (o *output) set(flag *bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*flag = true
	if o.discarded {
		o.buffer = nil
	}
	o.changed.Broadcast()
}

// Read implements [io.Reader].
func (o *output) Read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buffer) == 0 && !o.ended && !o.discarded {
		o.changed.Wait()
	}
	if len(o.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(b, o.buffer)
	o.buffer = o.buffer[n:]
	o.changed.Broadcast()
	return n, nil
}
