package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rpclab/internal/wire/h2"
)

func (s *Stream) check(call Call) error {
	switch {
	case s == nil:
		return nil
	case call.HTTP != nil:
		return errors.New("wire: only gRPC has message streams")
	case s.Messages < 1 || s.Answers < 0:
		return fmt.Errorf("wire: a stream cannot have %d messages and %d responses", s.Messages, s.Answers)
	}
	return nil
}

// beginStream sets what the call sends first.
func (c *core) beginStream(k *call) {
	s := c.call.Stream
	k.streaming = streamState{message: k.stream.Payload, sent: 1, lastSent: c.now}
	if s.PingPong || s.Messages == 1 {
		return
	}
	k.batch = k.batch[:0]
	for range s.Messages {
		k.batch = append(k.batch, k.streaming.message...)
	}
	k.stream.Payload, k.streaming.sent = k.batch, s.Messages
}

// receiveMessages handles the whole messages that have come.
func (c *core) receiveMessages(k *call) {
	rest := k.stream.Body
	for {
		size, ok := c.wholeMessage(k, rest)
		if !ok {
			return
		}
		if size == 0 {
			break
		}
		c.receiveMessage(k, rest[:size])
		rest = rest[size:]
	}
	k.stream.Body = k.stream.Body[:copy(k.stream.Body, rest)]
}

// wholeMessage returns the size of a body's first message with its prefix; 0: it has not come
// whole. It ends a stream whose message is too large, and returns false.
func (c *core) wholeMessage(k *call, body []byte) (size int, ok bool) {
	if len(body) < messagePrefix {
		return 0, true
	}
	n := int(binary.BigEndian.Uint32(body[1:]))
	if n > c.cfg.MaxMessage {
		k.connection.protocol.Abort(&k.stream, h2.Status{Code: h2.ResourceExhausted, Message: fmt.Sprintf("a response has %d bytes; the limit is %d", n, c.cfg.MaxMessage)})
		return 0, false
	}
	if n > len(body)-messagePrefix {
		return 0, true
	}
	return messagePrefix + n, true
}

// receiveMessage handles one message with its prefix.
func (c *core) receiveMessage(k *call, framed []byte) {
	state := &k.streaming
	state.responses++
	if c.load != nil {
		c.load.recorder.RecordResponse(c.now - state.lastSent)
	}
	message, status := c.decoder.message(framed, k.stream.Headers)
	if status.Code != h2.OK && state.failure == nil {
		state.failure = errors.New(status.Message)
	}
	if c.call.Check != nil && state.failure == nil {
		state.failure = c.call.Check(k.number, message, "")
	}
	if s := c.call.Stream; s.PingPong && state.sent < s.Messages {
		state.sent++
		state.lastSent = c.now
		k.connection.protocol.(*h2.Conn).Send(&k.stream, state.message, state.sent < s.Messages)
	}
}

// streamStatus returns the status of a call with a stream.
func (c *core) streamStatus(k *call) h2.Status {
	status := statusOf(&k.stream)
	switch state := &k.streaming; {
	case status.Code != h2.OK:
	case state.failure != nil:
		return h2.Status{Code: h2.DataLoss, Message: state.failure.Error()}
	case len(k.stream.Body) > 0:
		return h2.Status{Code: h2.Internal, Message: "the stream ends within a message"}
	case c.call.Stream.Answers > 0 && state.responses != c.call.Stream.Answers:
		return h2.Status{Code: h2.DataLoss, Message: fmt.Sprintf("the stream had %d responses, not %d", state.responses, c.call.Stream.Answers)}
	}
	return status
}
