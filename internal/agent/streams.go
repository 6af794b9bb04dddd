package agent

import (
	"io"
	"sync"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// In is the program's standard input.
func (p *Process) Stdin() io.WriteCloser { return input{p} }

type input struct{ *Process }

// Write returns when the stream has accepted the input.
func (i input) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), chunk)]
		if err := i.send(&rpclabv1.ToProcess{Message: &rpclabv1.ToProcess_Stdin{Stdin: part}}); err != nil {
			return n, err
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// Close closes the program's standard input.
func (i input) Close() error {
	return i.send(&rpclabv1.ToProcess{Message: &rpclabv1.ToProcess_CloseStdin{CloseStdin: &rpclabv1.CloseStdin{}}})
}

func (i input) send(m *rpclabv1.ToProcess) error {
	i.sending.Lock()
	defer i.sending.Unlock()
	if err := i.stream.Send(m); err != nil {
		return io.ErrClosedPipe // the stream has ended: Err says why
	}
	return nil
}

// outputLimit is how much output is buffered before the program blocks.
const outputLimit = 256 << 10

// output is a pipe with a buffer, so that the exit of a program is received before its last
// lines are read.
type output struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
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
	for len(o.waiting) >= outputLimit && !o.dropped {
		o.changed.Wait()
	}
	if !o.dropped {
		o.waiting = append(o.waiting, b...)
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
		o.waiting = nil
	}
	o.changed.Broadcast()
}

// Read implements [io.Reader].
func (o *output) Read(b []byte) (int, error) {
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
