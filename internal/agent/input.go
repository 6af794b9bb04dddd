package agent

import (
	"io"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Stdin is the program's standard input.
func (p *Process) Stdin() io.WriteCloser { return input{p} }

type input struct{ *Process }

// Write sends input. It returns when the stream has accepted all of it, which the program may not have read.
func (i input) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), maxChunk)]
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
