package load

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rpclab/internal/service/method"
	"rpclab/internal/service/request"
	"rpclab/internal/wire"
)

// stream describes the calls of a streaming method.
type stream struct {
	wire.Stream
	client, server bool // which sides stream
}

// stream returns how to call a method; nil: the method is unary.
func (s Settings) stream(m protoreflect.MethodDescriptor) (*stream, error) {
	name := method.Path(m)[1:]
	client, server := m.IsStreamingClient(), m.IsStreamingServer()
	switch {
	case (s.Messages > 0 || s.NoMessages) && !client:
		return nil, request.Invalidf("--messages %d: %s accepts one message per call; leave it out, or call a method with client streaming", s.Messages, name)
	case s.PingPong && !(client && server):
		return nil, request.Invalidf("--ping-pong: %s is not a bidirectional streaming method; leave it out", name)
	case (s.StreamMessages > 0 || s.StreamDuration > 0) && !server:
		return nil, request.Invalidf("--stream-messages and --stream-duration: %s does not stream responses; leave them out", name)
	case s.StreamDuration > 0 && s.StreamDuration >= s.Timeout:
		return nil, request.Invalidf("--stream-duration %s is not shorter than --timeout %s, which ends calls as failed: raise --timeout", s.StreamDuration, s.Timeout)
	case !client && !server:
		return nil, nil
	}
	messages := max(s.Messages, 1)
	if s.NoMessages {
		messages = 0
	}
	as := wire.Stream{
		Messages: messages, PingPong: s.PingPong, MaxResponses: s.StreamMessages, MaxDuration: s.StreamDuration,
		KeepOpen: client && (s.StreamMessages > 0 || s.StreamDuration > 0),
	}
	switch {
	case s.PingPong:
		as.Responses = as.Messages
	case !server:
		as.Responses = 1
	}
	return &stream{as, client, server}, nil
}

// String describes a call: "a stream of 3 requests and a stream of responses".
func (s *stream) String() string {
	text := s.messages()
	if s.MaxResponses > 0 {
		text += fmt.Sprintf(", ended by rpclab after %d of them", s.MaxResponses)
	}
	if s.MaxDuration > 0 {
		text += fmt.Sprintf(", ended by rpclab after %s", s.MaxDuration)
	}
	return text
}

func (s *stream) messages() string {
	if !s.client {
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
	case !s.server:
		return text
	case s.PingPong:
		return text + ", each sent after the response to the last one"
	}
	return text + " and a stream of responses"
}
