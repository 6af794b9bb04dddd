// Package stream says how the messages of a call of a streaming method are exchanged, with every engine.
package stream

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Stream makes each call a stream of messages: server streaming, client streaming or bidirectional.
type Stream struct {
	Client, Server bool // which sides stream
	// Messages is the number of messages a call sends: all at once or, with PingPong, each after the
	// response to the one before.
	Messages int
	PingPong bool
	// Responses is the number of responses that a call must get, with PingPong at least; 0: any number.
	Responses int
	// The client ends a call well after MaxResponses responses, or MaxDuration after it was sent; 0: it
	// does not. With KeepOpen it does not close its side before.
	MaxResponses int
	MaxDuration  time.Duration
	KeepOpen     bool
	// NeedsResponse makes a call fail that MaxDuration ends without a response.
	NeedsResponse bool
	// Checked says that responses must meet a condition. With NeedsResponse, a call that ends without a response fails.
	Checked bool

	names Names
}

// Options are what a user chooses of a stream. Processes exchange them as JSON.
type Options struct {
	Requests      int           `json:"requests,omitempty"` // messages that a call sends; 0: 1
	NoRequests    bool          `json:"no_requests,omitempty"`
	PingPong      bool          `json:"ping_pong,omitempty"`
	MaxResponses  int           `json:"max_responses,omitempty"`
	MaxDuration   time.Duration `json:"max_duration,omitempty"`
	NeedsResponse bool          `json:"needs_response,omitempty"` // see [Stream]
	Timeout       time.Duration `json:"timeout,omitempty"`        // of a call
}

// Names are the names of the options in messages.
type Names struct{ Requests, PingPong, MaxResponses, MaxDuration, Empty, Timeout string }

// Flags are the names of the options on a command line, and Fields those in a service file.
var (
	Flags  = Names{"--messages", "--ping-pong", "--stream-messages", "--stream-duration", "--stream-empty", "--timeout"}
	Fields = Names{"stream.requests", "stream.ping_pong", "stream.messages", "stream.duration", "stream.empty: true", "caller.timeout"}
)

// New returns how to call a method; nil: the method is unary.
func New(o Options, m protoreflect.MethodDescriptor, names Names) (*Stream, error) {
	name := fmt.Sprintf("%s/%s", m.Parent().FullName(), m.Name())
	client, server := m.IsStreamingClient(), m.IsStreamingServer()
	switch {
	case (o.Requests > 0 || o.NoRequests) && !client:
		return nil, fmt.Errorf("%s %d: %s accepts one message per call; leave it out, or call a method with client streaming", names.Requests, o.Requests, name)
	case o.PingPong && !(client && server):
		return nil, fmt.Errorf("%s: %s is not a bidirectional streaming method; leave it out", names.PingPong, name)
	case (o.MaxResponses > 0 || o.MaxDuration > 0) && !server:
		return nil, fmt.Errorf("%s and %s: %s does not stream responses; leave them out", names.MaxResponses, names.MaxDuration, name)
	case o.MaxDuration > 0 && o.MaxDuration >= o.Timeout:
		return nil, fmt.Errorf("%s %s is not shorter than %s %s, which ends calls as failed: raise %[3]s", names.MaxDuration, o.MaxDuration, names.Timeout, o.Timeout)
	case !client && !server:
		return nil, nil
	}
	s := &Stream{
		Client: client, Server: server, Messages: max(o.Requests, 1), PingPong: o.PingPong, MaxResponses: o.MaxResponses, MaxDuration: o.MaxDuration,
		KeepOpen: client && (o.MaxResponses > 0 || o.MaxDuration > 0), NeedsResponse: o.NeedsResponse, names: names,
	}
	if o.NoRequests {
		s.Messages = 0
	}
	switch {
	case s.PingPong:
		s.Responses = s.Messages
	case !server:
		s.Responses = 1
	}
	return s, nil
}

// CheckResponses returns an error if a call that has ended got too few or too many responses.
func (s *Stream) CheckResponses(n int) error {
	if n >= s.Responses && (n == s.Responses || s.Responses == 0 || s.PingPong) {
		return nil
	}
	return fmt.Errorf("the stream had %d responses, not %d", n, s.Responses)
}

// CheckEnded returns an error if a call that MaxDuration ended needs a response and got none.
func (s *Stream) CheckEnded(responses int) error {
	if !s.NeedsResponse || responses > 0 {
		return nil
	}
	return fmt.Errorf("no response within %s %s; if a stream may be empty, set %s", s.names.MaxDuration, s.MaxDuration, s.names.Empty)
}

// CheckAnswered returns an error if a call that has ended got no response, and a condition needs one.
func (s *Stream) CheckAnswered(responses int) error {
	if !s.Checked || !s.NeedsResponse || responses > 0 {
		return nil
	}
	return errors.New("the stream ended without a response to check; if a stream may be empty, set stream.empty: true")
}

// Unended says what a call waited for that did not end before its deadline.
func (s *Stream) Unended(responses int, deadline time.Duration) string {
	text := fmt.Sprintf("the stream did not end within %s", deadline)
	switch {
	case s.Responses == 1 && !s.PingPong: // the server does not stream
		return fmt.Sprintf("no response within %s", deadline)
	case s.MaxResponses > 0:
		text += fmt.Sprintf(": it had %d of the %d responses of %s", responses, s.MaxResponses, s.names.MaxResponses)
		if s.KeepOpen {
			text += fmt.Sprintf(", and %s is %d", s.names.Requests, s.Messages)
		}
		return text
	}
	return fmt.Sprintf("%s (responses so far: %d); raise %s, or end it with %s or %s", text, responses, s.names.Timeout, s.names.MaxResponses, s.names.MaxDuration)
}

// String describes a call: "a stream of 3 requests and a stream of responses".
func (s *Stream) String() string {
	text := s.messages()
	if s.MaxResponses > 0 {
		text += fmt.Sprintf(", ended by rpclab after %d of them", s.MaxResponses)
	}
	if s.MaxDuration > 0 {
		text += fmt.Sprintf(", ended by rpclab after %s", s.MaxDuration)
	}
	return text
}

func (s *Stream) messages() string {
	if !s.Client {
		return "a stream of responses"
	}
	text := fmt.Sprintf("a stream of %d requests", s.Messages)
	switch s.Messages {
	case 0:
		text = "a stream without requests"
	case 1:
		text = "a stream of 1 request"
	}
	switch {
	case !s.Server:
		return text
	case s.PingPong:
		return text + ", each sent after the response to the last one"
	}
	return text + " and a stream of responses"
}
