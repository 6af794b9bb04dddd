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
	in io.Reader

	mu  sync.Mutex
	out *json.Encoder
}

// NewConn returns the end of a conversation that reads requests on in and writes answers to out.
func NewConn(in io.Reader, out io.Writer) *Conn { return &Conn{in: in, out: json.NewEncoder(out)} }

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

type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// Stop marks the last answer of a conversation. err may be nil.
func Stop(err error) error { return stop{err} }

// Serve answers requests by the handlers of their methods, one at a time and in order. It returns
// nil when the input ends, because then the parent process has ended, or when ctx ends. After
// [Stop] it returns the error in it.
func (c *Conn) Serve(ctx context.Context, handlers ...Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests := make(chan message)
	readErr := make(chan error, 1)
	go func() {
		defer cancel()
		lines := json.NewDecoder(c.in)
		for first := true; ; first = false {
			var m message
			switch err := lines.Decode(&m); {
			case first && errors.Is(err, io.EOF):
				readErr <- errors.New("no request on standard input: rpclab itself starts this command, as in `rpclab run`")
				return
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
				return
			case err != nil:
				readErr <- fmt.Errorf("read a request: %w", err)
				return
			}
			select {
			case requests <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case m := <-requests:
			if done, err := c.answer(ctx, m, handlers); done || err != nil {
				return err
			}
		case <-ctx.Done():
			select {
			case err := <-readErr:
				return err
			default:
				return nil
			}
		}
	}
}

// answer handles one request; done means that the conversation ends with err.
func (c *Conn) answer(ctx context.Context, m message, handlers []Handler) (done bool, err error) {
	result, err := handle(ctx, m, handlers)
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

func handle(ctx context.Context, m message, handlers []Handler) (any, error) {
	for _, h := range handlers {
		if h.method == m.Method {
			return h.handle(ctx, m.Body)
		}
	}
	return nil, fmt.Errorf("no method %q", m.Method)
}
