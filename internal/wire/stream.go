package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rpclab/internal/service/stream"
	"rpclab/internal/wire/h2"
)

func checkStream(s *stream.Stream, call Call) error {
	switch {
	case s == nil:
		return nil
	case call.HTTP != nil:
		return errors.New("wire: only gRPC has message streams")
	case s.MaxResponses < 0 || s.MaxDuration < 0:
		return errors.New("wire: the limits of a stream cannot be negative")
	case s.Messages < 0 || s.Responses < 0:
		return fmt.Errorf("wire: a stream cannot have %d messages and %d responses", s.Messages, s.Responses)
	}
	return nil
}

// beginStream sets what the call sends first.
func (c *core) beginStream(call *call) {
	settings := c.call.Stream
	call.streaming = streamState{message: call.stream.Payload, sent: 1, lastSent: c.now}
	if settings.PingPong || settings.Messages == 1 {
		return // otherwise the payload has all messages, or none
	}
	call.batch = call.batch[:0]
	for range settings.Messages {
		call.batch = append(call.batch, call.streaming.message...)
	}
	call.stream.Payload, call.streaming.sent = call.batch, settings.Messages
}

// receiveMessages handles the complete messages that have arrived.
func (c *core) receiveMessages(call *call) {
	rest := call.stream.Body
	for {
		size, ok := c.completeMessage(call, rest)
		if !ok {
			return
		}
		if size == 0 {
			break
		}
		c.receiveMessage(call, rest[:size])
		if most := c.call.Stream.MaxResponses; most > 0 && call.streaming.responses >= most {
			call.streaming.enough = true // the caller of receiveMessages ends the stream
			return
		}
		rest = rest[size:]
	}
	call.stream.Body = call.stream.Body[:copy(call.stream.Body, rest)]
}

// completeMessage returns the size of a body's first message with its prefix; 0: it is not complete.
// It ends a stream whose message is too large, and returns false.
func (c *core) completeMessage(call *call, body []byte) (size int, ok bool) {
	if len(body) < messagePrefix {
		return 0, true
	}
	n := int(binary.BigEndian.Uint32(body[1:]))
	if n > c.cfg.MaxMessage {
		call.connection.protocol.Abort(&call.stream, h2.Status{Code: h2.ResourceExhausted, Message: fmt.Sprintf("a response has %d bytes; the limit is %d"+raiseMessage, n, c.cfg.MaxMessage)})
		return 0, false
	}
	if n > len(body)-messagePrefix {
		return 0, true
	}
	return messagePrefix + n, true
}

// decode returns the status of a complete response.
func (c *core) decode(call *call, message []byte) h2.Status {
	if err := c.call.Decode(message, call.stream.Headers.Type); err != nil {
		return h2.Status{Code: h2.InvalidResponse, Message: err.Error()}
	}
	return h2.Status{}
}

// check returns the status of a response that could be decoded.
func (c *core) check(call *call, message []byte, backend string) h2.Status {
	err := c.call.Check(c.numberOf(call), message, backend)
	if err == nil {
		return h2.Status{}
	}
	if _, failed := err.(CheckError); failed {
		return h2.Status{Code: h2.CheckFailed, Message: err.Error()}
	}
	return h2.Status{Code: h2.DataLoss, Message: err.Error()}
}

// receiveMessage handles one message with its prefix.
func (c *core) receiveMessage(call *call, framed []byte) {
	state := &call.streaming
	state.responses++
	if c.load != nil {
		c.load.recorder.RecordResponse(c.now - state.lastSent)
	}
	message, status := c.decoder.message(framed, call.stream.Headers)
	if status.Code != h2.OK {
		status.Code = h2.DataLoss
	} else if c.call.Decode != nil {
		status = c.decode(call, message)
	}
	if status.Code == h2.OK && c.call.Check != nil {
		status = c.check(call, message, "")
	}
	if state.failure.Code == h2.OK {
		state.failure = status
	}
	if settings := c.call.Stream; settings.PingPong && state.sent < settings.Messages {
		state.sent++
		state.lastSent = c.now
		call.connection.protocol.(*h2.Conn).Send(&call.stream, state.message, state.sent < settings.Messages || settings.KeepOpen)
	}
}

// streamStatus returns the status of a call with a stream.
func (c *core) streamStatus(call *call) h2.Status {
	status := statusOf(&call.stream)
	switch state := &call.streaming; {
	case status.Code != h2.OK:
	case state.failure.Code != h2.OK:
		return state.failure
	case len(call.stream.Body) > 0:
		return h2.Status{Code: h2.Internal, Message: "the stream ends within a message"}
	default:
		if err := c.call.Stream.CheckResponses(state.responses); err != nil {
			return h2.Status{Code: h2.DataLoss, Message: err.Error()}
		}
		if err := c.call.Stream.CheckAnswered(state.responses); err != nil {
			return h2.Status{Code: h2.CheckFailed, Message: err.Error()}
		}
	}
	return status
}
