package agent

import (
	"io"
	"sync"
)

// outputLimit is how much output is buffered before the program blocks.
const outputLimit = 256 << 10

// output is a pipe with a buffer, so that the exit of a program is received before its last
// lines are read.
type output struct {
	mu      sync.Mutex
	changed sync.Cond
	buffer  []byte
	ended   bool
	dropped bool
}

func newOutput() *output {
	o := &output{}
	o.changed.L = &o.mu
	return o
}

// put blocks while the buffer is full.
func (o *output) put(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buffer) >= outputLimit && !o.dropped {
		o.changed.Wait()
	}
	if !o.dropped {
		o.buffer = append(o.buffer, b...)
		o.changed.Broadcast()
	}
}

// end marks the end of the output.
func (o *output) end() { o.set(&o.ended) }

// drop discards the buffer and all later output.
func (o *output) drop() { o.set(&o.dropped) }

func (o *output) set(flag *bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*flag = true
	if o.dropped {
		o.buffer = nil
	}
	o.changed.Broadcast()
}

// Read implements [io.Reader].
func (o *output) Read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buffer) == 0 && !o.ended && !o.dropped {
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
