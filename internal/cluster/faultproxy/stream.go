package faultproxy

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"rpclab/internal/workload"
)

// stream is a call in progress.
type stream struct {
	exempt bool // from faults
	grpc   bool // else another HTTP request
	// asked is when the last part of the present message, or of the request, arrived; zero: it is answered.
	asked     time.Time
	fault     *workload.Fault // of the present message
	messages  messages        // of the request
	answering bool            // the client has received headers
	requested bool            // the request has ended
	responded bool            // the response has ended, and the client has received it
	held      []heldFrame     // delayed, in order
	due       time.Time       // of the last held frame, or the last that was passed on
	timer     *time.Timer     // that sends the next held frame; nil: none is held
}

// heldFrame is a part of a delayed response.
type heldFrame struct {
	frame
	due time.Time
}

// admit reports whether a frame of a stream from the client goes to the backend. It answers calls that fail.
// Frames of streams that ended, or that the backend never saw, are dropped.
func (c *connection) admit(f frame) bool {
	c.mu.Lock()
	s := c.streams[f.StreamID]
	known := s != nil
	if !known && f.Type == http2.FrameHeaders && f.StreamID > c.last {
		s = newStream(f.fields)
		c.streams[f.StreamID], c.last = s, f.StreamID
		if !s.exempt {
			c.proxy.begun.Add(1)
		}
	}
	if s == nil {
		c.mu.Unlock()
		if f.Type == http2.FrameData {
			c.client.credit(int(f.Length))
		}
		return false
	}
	s.requested = s.requested || f.endsStream()
	fails := false
	if part := f.Type == http2.FrameHeaders || f.Type == http2.FrameData && f.Length > 0; part && !s.exempt {
		s.asked = time.Now()
		fails = s.begin(f, c.proxy.fault.Load()) && !s.responded
	}
	dropped := 0
	if fails || f.Type == http2.FrameRSTStream || s.requested && s.responded {
		dropped = c.forget(f.StreamID, s)
	}
	c.mu.Unlock()
	c.backend.credit(dropped)
	if fails {
		c.fail(f, s, known)
	}
	return !fails
}

func newStream(request []hpack.HeaderField) *stream {
	s := &stream{}
	for _, field := range request {
		switch field.Name {
		case ":path":
			s.exempt = isExempt(field.Value)
		case "content-type":
			s.grpc = strings.HasPrefix(field.Value, "application/grpc")
		}
	}
	return s
}

// begin gives a fault to the call or the messages that begin in a frame from the client, and reports whether it
// makes one of them fail.
func (s *stream) begin(f frame, fault *workload.Fault) (fails bool) {
	begun := 0
	switch {
	case s.fault == nil: // the call
		begun = 1
	case f.Type == http2.FrameData && s.grpc:
		first := !s.messages.any
		begun = s.messages.begun(f.data())
		if first && fault == s.fault { // it was drawn for the first message when the call began
			begun--
		}
	}
	for range begun {
		s.fault = fault
		fails = fails || fault.Fails()
	}
	return fails
}

// forget removes a stream and returns the bytes of its held DATA. Call it with c.mu held.
func (c *connection) forget(id uint32, s *stream) (dropped int) {
	delete(c.streams, id)
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, h := range s.held {
		c.held -= h.size()
		if h.Type == http2.FrameData {
			dropped += int(h.Length)
		}
	}
	return dropped
}

// forgetStreams removes all streams of a connection that has ended.
func (c *connection) forgetStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range c.streams {
		c.forget(id, s)
	}
}

// fail answers a call with the code of its fault. f is the frame that the backend does not receive; known says
// that the backend has received earlier frames of the call.
func (c *connection) fail(f frame, s *stream, known bool) {
	if known {
		c.backend.send(func() { _ = c.backend.framer.WriteRSTStream(f.StreamID, http2.ErrCodeCancel) })
	}
	if f.Type == http2.FrameData {
		c.client.credit(int(f.Length))
	}
	c.client.send(func() {
		c.client.writeHeaders(f.StreamID, s.failure(), true)
		if !s.requested { // the client need not send the rest (RFC 9113, section 8.1)
			_ = c.client.framer.WriteRSTStream(f.StreamID, http2.ErrCodeNo)
		}
	})
}

// failure returns the fields that end a call with the code of its fault.
func (s *stream) failure() (fields []hpack.HeaderField) {
	if !s.grpc {
		return []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(httpStatus(s.fault.Code))}, {Name: "content-length", Value: "0"}}
	}
	if !s.answering {
		fields = []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}
	}
	return append(fields, hpack.HeaderField{Name: "grpc-status", Value: fmt.Sprint(uint32(s.fault.Code))}, hpack.HeaderField{Name: "grpc-message", Value: failureText})
}

const failureText = "the fault proxy fails this call"

// httpStatus returns the status nearest to a code, as rpclab's own server does.
func httpStatus(code codes.Code) int {
	if code == codes.Unavailable {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// hold reports whether a frame of a stream from the backend goes to the client now. It holds frames of a slow
// response until they are due, and drops those of a stream that the client has ended. Call it with c.client.mu
// held.
func (c *connection) hold(f frame, now time.Time) bool {
	c.mu.Lock()
	s := c.streams[f.StreamID]
	if s == nil {
		c.mu.Unlock()
		if f.Type == http2.FrameData {
			c.backend.credit(int(f.Length))
		}
		return false
	}
	defer c.mu.Unlock()
	switch f.Type {
	case http2.FrameHeaders, http2.FrameData, http2.FrameRSTStream:
	default: // such as WINDOW_UPDATE, about the request
		return true
	}
	due := now
	if !s.asked.IsZero() && f.Type != http2.FrameRSTStream {
		due = now.Add(s.fault.Delay(now.Sub(s.asked)))
		if f.Type == http2.FrameData || f.endsStream() { // headers alone answer nothing
			s.asked = time.Time{}
		}
	}
	if due.Before(s.due) {
		due = s.due
	}
	if s.due = due; len(s.held) == 0 && !due.After(now) {
		c.delivered(f, s)
		return true
	}
	s.held = append(s.held, heldFrame{f.clone(), due})
	c.held += f.size()
	if len(s.held) == 1 {
		s.timer = time.AfterFunc(due.Sub(now), func() { c.release(f.StreamID, s) })
	}
	return false
}

// holdsTooMuch reports whether the backend has sent more than a connection may delay.
func (c *connection) holdsTooMuch() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held > maxHeld
}

// delivered records that a frame goes to the client. Call it with c.mu held.
func (c *connection) delivered(f frame, s *stream) {
	s.answering, s.responded = s.answering || f.Type == http2.FrameHeaders, s.responded || f.endsStream()
	if f.Type == http2.FrameRSTStream || s.responded && s.requested {
		c.forget(f.StreamID, s)
	}
}

// release sends the held frames of a stream that are due.
func (c *connection) release(id uint32, s *stream) {
	c.client.send(func() {
		for _, f := range c.due(id, s, time.Now()) {
			c.client.write(f)
		}
	})
}

// due takes from a stream the held frames that are due, and sets the timer for the next.
func (c *connection) due(id uint32, s *stream, now time.Time) (frames []frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[id] != s { // it has ended meanwhile
		return nil
	}
	for len(s.held) > 0 && !s.held[0].due.After(now) {
		f := s.held[0].frame
		s.held, c.delayed = s.held[1:], now
		c.held -= f.size()
		frames = append(frames, f)
		c.delivered(f, s)
	}
	if len(s.held) > 0 {
		s.timer.Reset(s.held[0].due.Sub(now))
	}
	return frames
}

// awaitHeld returns when no frame is held.
func (c *connection) awaitHeld() {
	for {
		c.mu.Lock()
		var last time.Time
		for _, s := range c.streams {
			if len(s.held) > 0 && s.due.After(last) {
				last = s.due
			}
		}
		c.mu.Unlock()
		if last.IsZero() {
			return
		}
		time.Sleep(max(time.Until(last), time.Millisecond))
	}
}
