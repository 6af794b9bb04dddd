package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Conn is the child's end of a session: it handles the parent's requests.
type Conn struct {
	in io.Reader

	mu  sync.Mutex
	out *json.Encoder
}

// NewConn returns a Conn that reads requests from in and writes responses to out.
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

// Stop is the error of a handler that ends the session after its response. err may be nil.
func Stop(err error) error { return stop{err} }

// Serve calls the handlers of requests, one at a time and in order. It returns nil when ctx ends, or
// when the input ends, because then the parent process has ended. After [Stop] it returns Stop's err.
func (c *Conn) Serve(ctx context.Context, handlers ...Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type request struct {
		message
		finished chan struct{} // closed by finish
	}
	requests := make(chan request)
	readErr := make(chan error, 1)
	go func() {
		defer cancel()
		lines := json.NewDecoder(c.in)
		var last request
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
			if m.Method == finish {
				if last.finished != nil {
					close(last.finished)
					last.finished = nil
				}
				continue
			}
			last = request{m, make(chan struct{})}
			select {
			case requests <- last:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case r := <-requests:
			if done, err := c.respond(context.WithValue(ctx, finishedKey{}, r.finished), r.message, handlers); done || err != nil {
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

type finishedKey struct{}

// UntilFinished returns a context of a handler that also ends at [Client.Finish].
func UntilFinished(ctx context.Context) (context.Context, context.CancelFunc) {
	finished, _ := ctx.Value(finishedKey{}).(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-finished:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// respond handles one request. If done is true, the session ends with err.
func (c *Conn) respond(ctx context.Context, request message, handlers []Handler) (done bool, err error) {
	result, err := handle(ctx, request, handlers)
	var last stop
	if done = errors.As(err, &last); done {
		err = last.error
	}
	response := message{ID: request.ID}
	if err != nil {
		response.Error = err.Error()
	} else if response.Body, err = json.Marshal(result); err != nil {
		return true, fmt.Errorf("encode the response to %s: %w", request.Method, err)
	}
	if writeErr := c.write(response); writeErr != nil {
		return true, errors.Join(err, writeErr)
	}
	if !done {
		err = nil // the parent has received the error
	}
	return done, err
}

func handle(ctx context.Context, request message, handlers []Handler) (any, error) {
	for _, h := range handlers {
		if h.method == request.Method {
			return h.handle(ctx, request.Body)
		}
	}
	return nil, fmt.Errorf("no method %q", request.Method)
}
