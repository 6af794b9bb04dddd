package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Conn is the serving end of a conversation.
type Conn struct {
	mu  sync.Mutex
	out *json.Encoder
}

// Send sends an event to the parent process, at any time. It is safe for concurrent use.
func (c *Conn) Send(event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return c.write(message{Body: body})
}

func (c *Conn) write(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(m)
}

// Handler answers a request. Its context ends with the parent process. The text of its error is
// sent to the parent; with [Stop] the conversation then ends.
type Handler func(ctx context.Context, method string, params json.RawMessage) (result any, err error)

type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// Stop marks the last answer of a conversation. err may be nil.
func Stop(err error) error { return stop{err} }

// Serve answers requests on in with newHandler's handler, one at a time and in order. It returns
// nil when in ends, because then the parent process has ended, or ctx ends; after [Stop] it
// returns the error in it.
func Serve(ctx context.Context, in io.Reader, out io.Writer, newHandler func(*Conn) Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests := make(chan message)
	garbled := make(chan error, 1)
	go func() {
		defer cancel()
		for lines := json.NewDecoder(in); ; {
			var m message
			if err := lines.Decode(&m); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
					garbled <- fmt.Errorf("read a request: %w", err)
				}
				return
			}
			select {
			case requests <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	conn := &Conn{out: json.NewEncoder(out)}
	handle := newHandler(conn)
	for {
		select {
		case m := <-requests:
			if done, err := conn.answer(ctx, m, handle); done || err != nil {
				return err
			}
		case <-ctx.Done():
			select {
			case err := <-garbled:
				return err
			default:
				return nil
			}
		}
	}
}

// answer handles one request; done means that the conversation ends with err.
func (c *Conn) answer(ctx context.Context, m message, handle Handler) (done bool, err error) {
	result, err := handle(ctx, m.Method, m.Body)
	var last stop
	if done = errors.As(err, &last); done {
		err = last.error
	}
	answer := message{ID: m.ID}
	if err != nil {
		answer.Error = err.Error()
	} else if answer.Body, err = json.Marshal(result); err != nil {
		return true, fmt.Errorf("encode the answer to %s: %w", m.Method, err)
	}
	if sent := c.write(answer); sent != nil {
		return true, errors.Join(err, sent)
	}
	if !done {
		err = nil // the parent knows it
	}
	return done, err
}
