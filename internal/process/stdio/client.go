package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// message is a line in either direction. A request has a method, a response has the id of its
// request and no method, and an event has neither. A message with the method [finish] has no response.
type message struct {
	ID     uint64          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"` // parameters, result or event
	Error  string          `json:"error,omitempty"`
}

// finish is the method of [Client.Finish].
const finish = "finish"

// Client sends requests to a child process that runs [Conn.Serve]. It is safe for concurrent use.
type Client struct {
	name    string
	process Process
	onEvent func(json.RawMessage)
	ended   chan struct{} // closed when no more responses can arrive
	drained chan struct{} // closed at the end of the output
	readErr error         // why the output could not be read; valid after ended is closed

	sending sync.Mutex
	out     *json.Encoder

	mu      sync.Mutex
	last    uint64
	pending map[uint64]chan message
}

// NewClient starts to read a process's standard output, until the output ends. name is the name of
// the process in errors. The client calls onEvent for each event, before it passes on any response
// that follows the event; a nil onEvent ignores events.
func NewClient(name string, p Process, stdin io.Writer, stdout io.Reader, onEvent func(json.RawMessage)) *Client {
	c := &Client{
		name: name, process: p, out: json.NewEncoder(stdin), onEvent: onEvent,
		ended: make(chan struct{}), drained: make(chan struct{}), pending: map[uint64]chan message{},
	}
	go c.read(stdout)
	return c
}

func (c *Client) read(stdout io.Reader) {
	defer close(c.drained)
	for lines := json.NewDecoder(stdout); ; {
		var m message
		if err := lines.Decode(&m); err != nil {
			if !errors.Is(err, io.EOF) {
				c.readErr = fmt.Errorf("its output is not the expected JSON: %w", err)
			}
			close(c.ended)
			_, _ = io.Copy(io.Discard, stdout) // a process that blocks in a write does not end
			return
		}
		if m.ID == 0 {
			if c.onEvent != nil {
				c.onEvent(m.Body)
			}
			continue
		}
		c.mu.Lock()
		response := c.pending[m.ID]
		delete(c.pending, m.ID)
		c.mu.Unlock()
		if response != nil { // nil: the caller no longer waits
			response <- m
		}
	}
}

// call sends a request, waits for the response and decodes it into result.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	response := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.pending[id] = response
	c.mu.Unlock()
	c.sending.Lock() // not c.mu, which the reader needs: a full pipe would block both directions
	err = c.out.Encode(message{ID: id, Method: method, Body: body})
	c.sending.Unlock()
	if err != nil {
		return Exited(c.name, c.process, err)
	}
	select {
	case m := <-response:
		return c.decode(m, result)
	case <-c.ended:
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		return fmt.Errorf("%s did not respond: %w", c.name, context.Cause(ctx))
	}
	select {
	case m := <-response: // it arrived before the output ended
		return c.decode(m, result)
	default:
		return Exited(c.name, c.process, c.readErr)
	}
}

func (c *Client) decode(m message, result any) error {
	if m.Error != "" {
		return &HandlerError{Name: c.name, Text: m.Error}
	}
	if err := json.Unmarshal(m.Body, result); err != nil {
		return fmt.Errorf("%s: decode the response: %w", c.name, err)
	}
	return nil
}

// Finish ends the context of [UntilFinished] of the request in progress. Its handler then responds, as if it had completed.
func (c *Client) Finish() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.out.Encode(message{Method: finish})
}

// Kill ends the process and returns when no event can follow.
func (c *Client) Kill() {
	c.process.Kill()
	<-c.drained
}

// HandlerError is an error that the handler of a request returned.
type HandlerError struct {
	Name string // of the process
	Text string
}

func (e *HandlerError) Error() string { return e.Name + ": " + e.Text }
