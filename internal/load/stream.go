package load

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/load/method"
	"rpclab/internal/load/request"
	"rpclab/internal/wire"
)

// stream is how each call of a streaming method goes.
type stream struct {
	wire.Stream
	client, server bool // who sends many messages
}

// stream is that of a method by its description and the settings; nil: it is unary.
func (s Settings) stream(m protoreflect.MethodDescriptor) (*stream, error) {
	name := method.Path(m)[1:]
	client, server := m.IsStreamingClient(), m.IsStreamingServer()
	switch {
	case s.Messages > 0 && !client:
		return nil, request.Wrongf("--messages %d: %s takes one message a call; leave it out, or call a method with a stream of requests", s.Messages, name)
	case s.PingPong && !(client && server):
		return nil, request.Wrongf("--ping-pong: %s has no streams in both directions; leave it out", name)
	case !client && !server:
		return nil, nil
	case s.Engine != Wire:
		return nil, request.Wrongf("--engine %s: %s is a streaming method; those need --engine %s", s.Engine, name, Wire)
	}
	as := wire.Stream{Messages: max(s.Messages, 1), PingPong: s.PingPong}
	switch {
	case s.PingPong:
		as.Answers = as.Messages
	case !server:
		as.Answers = 1
	}
	return &stream{as, client, server}, nil
}

// String says in one clause what a call is.
func (s *stream) String() string {
	switch {
	case !s.client:
		return "a stream of answers"
	case !s.server:
		return fmt.Sprintf("a stream of %d sent", s.Messages)
	case s.PingPong:
		return fmt.Sprintf("a stream of %d sent, each when the one before it is answered", s.Messages)
	}
	return fmt.Sprintf("a stream of %d sent and of answers", s.Messages)
}
