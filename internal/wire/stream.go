package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"rpclab/internal/wire/h2"
)

// Stream makes each call of a [Call] a stream of messages: one from the server, from
// the client, or both ways. Its Message or Make is what every message of it says, and
// Check is asked about every answer. The recorder is told how long each took since the
// message that it answers was sent: with PingPong the one before it, else the first.
type Stream struct {
	// Messages are sent in a call, 1 at least: all at once or, with PingPong, each
	// when the one before it is answered.
	Messages int
	PingPong bool
	// Answers is how many a call has to get; 0: any number.
	Answers int
}

func (s *Stream) check(call Call) error {
	switch {
	case s == nil:
		return nil
	case call.HTTP != nil:
		return errors.New("wire: only gRPC has streams of messages")
	case s.Messages < 1 || s.Answers < 0:
		return fmt.Errorf("wire: a stream of %d messages and %d answers", s.Messages, s.Answers)
	}
	return nil
}

// streaming is what a call on a stream has come to.
type streaming struct {
	message  []byte // with its prefix
	sent     int    // messages
	answers  int
	lastSent time.Duration
	wrong    error // the first
}

// beginStream makes of one message what the call sends first.
func (c *core) beginStream(k *call) {
	s := c.call.Stream
	k.streaming = streaming{message: k.stream.Payload, sent: 1, lastSent: c.now}
	if s.PingPong || s.Messages == 1 {
		return
	}
	k.batch = k.batch[:0]
	for range s.Messages {
		k.batch = append(k.batch, k.streaming.message...)
	}
	k.stream.Payload, k.streaming.sent = k.batch, s.Messages
}

// streamed takes the whole messages that have come of an answer.
func (c *core) streamed(k *call) {
	if k.listening != nil {
		c.talk.stood(k)
	}
	rest := k.stream.Body
	for len(rest) >= prefix {
		n := int(binary.BigEndian.Uint32(rest[1:]))
		if n > c.cfg.MaxMessage {
			k.link.conn.Abort(&k.stream, h2.Status{Code: h2.ResourceExhausted, Message: fmt.Sprintf("an answer has %d bytes; %d are the most", n, c.cfg.MaxMessage)})
			return
		}
		if n > len(rest)-prefix {
			break
		}
		if k.listening == nil {
			c.oneAnswer(k, rest[:prefix+n])
		} else if !c.talk.answer(k, rest[:prefix+n]) {
			return
		}
		rest = rest[prefix+n:]
	}
	k.stream.Body = k.stream.Body[:copy(k.stream.Body, rest)]
}

// oneAnswer takes one message of an answer, with its prefix.
func (c *core) oneAnswer(k *call, framed []byte) {
	state := &k.streaming
	state.answers++
	if c.run != nil {
		c.run.recorder.Answer(c.now - state.lastSent)
	}
	message, status := c.unpack.message(framed, k.stream.Head)
	if status.Code != h2.OK && state.wrong == nil {
		state.wrong = errors.New(status.Message)
	}
	if c.call.Check != nil && state.wrong == nil {
		state.wrong = c.call.Check(k.n, message, "")
	}
	if s := c.call.Stream; s.PingPong && state.sent < s.Messages {
		state.sent++
		state.lastSent = c.now
		k.link.conn.(*h2.Conn).Send(&k.stream, state.message, state.sent < s.Messages)
	}
}

// endOfStream is what became of a call on a stream.
func (c *core) endOfStream(k *call) h2.Status {
	status := statusOf(&k.stream)
	switch state := &k.streaming; {
	case status.Code != h2.OK:
	case state.wrong != nil:
		return h2.Status{Code: h2.DataLoss, Message: state.wrong.Error()}
	case len(k.stream.Body) > 0:
		return h2.Status{Code: h2.Internal, Message: "the stream ends within a message"}
	case c.call.Stream.Answers > 0 && state.answers != c.call.Stream.Answers:
		return h2.Status{Code: h2.DataLoss, Message: fmt.Sprintf("%d answers came; %d were due", state.answers, c.call.Stream.Answers)}
	}
	return status
}
