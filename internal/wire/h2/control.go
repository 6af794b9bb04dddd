package h2

import (
	"encoding/binary"
	"fmt"
)

// Settings, RFC 9113 section 6.5.2.
const (
	settingTable      = 0x1
	settingPush       = 0x2
	settingStreams    = 0x3
	settingWindow     = 0x4
	settingFrame      = 0x5
	settingHeaderList = 0x6
)

func (c *Conn) settings(f frame) error {
	switch {
	case f.stream != 0:
		return violation(ProtocolError, "SETTINGS on stream %d", f.stream)
	case f.has(flagAck) && len(f.payload) > 0, len(f.payload)%6 != 0:
		return violation(FrameSizeError, "a SETTINGS frame of %d bytes", len(f.payload))
	case f.has(flagAck) && !c.settled:
		return violation(ProtocolError, "the server acknowledges settings before it sends its own")
	case f.has(flagAck):
		return nil
	}
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = appendFrame(c.out, 0, frameSettings, flagAck, 0)
	if err := c.answered(); err != nil {
		return err
	}
	if !c.settled {
		c.settled = true
		c.h.Ready()
	}
	c.pumpAll()
	c.admit()
	return nil
}

func (c *Conn) setting(id uint16, value uint32) error {
	switch id {
	case settingTable:
		// What was taught may no longer fit. A table is an economy, not a need.
		if value < tableRoom && !c.tableless {
			c.tableless, c.resize = true, true
		}
	case settingPush:
		if value != 0 { // RFC 9113 section 6.5.2: a server must not
			return violation(ProtocolError, "the server sets ENABLE_PUSH to %d", value)
		}
	case settingStreams:
		c.most = min(value, c.limits.Streams)
	case settingWindow:
		if value > maxWindow {
			return violation(FlowControlError, "an INITIAL_WINDOW_SIZE of %d", value)
		}
		delta := int64(value) - c.window
		c.window = int64(value)
		for _, s := range c.open.all(0) { // RFC 9113 section 6.9.2: a window may go below zero
			if s.window += delta; s.window > maxWindow {
				return violation(FlowControlError, "an INITIAL_WINDOW_SIZE of %d makes the window of stream %d overflow", value, s.id)
			}
		}
	case settingFrame:
		if value < maxFrame || value > 1<<24-1 {
			return violation(ProtocolError, "a MAX_FRAME_SIZE of %d", value)
		}
		c.frame = int(value)
	}
	return nil
}

func (c *Conn) ping(f frame) error {
	switch {
	case f.stream != 0:
		return violation(ProtocolError, "PING on stream %d", f.stream)
	case len(f.payload) != 8:
		return violation(FrameSizeError, "a PING frame of %d bytes", len(f.payload))
	case f.has(flagAck):
		return nil
	}
	c.out = append(appendFrame(c.out, 8, framePing, flagAck, 0), f.payload...)
	return c.answered()
}

// Ping asks the peer for a sign of life, RFC 9113 section 6.7. Whatever it says next is one.
func (c *Conn) Ping() {
	c.out = append(appendFrame(c.out, 8, framePing, 0, 0), 0, 0, 0, 0, 0, 0, 0, 0)
}

// answered counts what the peer makes us say, so that it cannot fill our memory.
func (c *Conn) answered() error {
	if c.answers++; c.answers > mostAnswers {
		return violation(EnhanceYourCalm, "over %d PING and SETTINGS frames, none of our answers taken", mostAnswers)
	}
	return nil
}

func (c *Conn) windowUpdate(f frame) error {
	if len(f.payload) != 4 {
		return violation(FrameSizeError, "a WINDOW_UPDATE frame of %d bytes", len(f.payload))
	}
	add := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if add == 0 {
			return violation(ProtocolError, "a WINDOW_UPDATE of 0")
		}
		if c.sendWindow += add; c.sendWindow > maxWindow {
			return violation(FlowControlError, "the connection's window overflows: %d", c.sendWindow)
		}
		c.pumpAll()
		return nil
	}
	s, err := c.stream(f)
	if err != nil || s == nil {
		return err
	}
	if s.window += add; add == 0 || s.window > maxWindow { // an error of the stream, section 6.9
		code, text := FlowControlError, "the server made the stream's window overflow"
		if add == 0 {
			code, text = ProtocolError, "the server sent a WINDOW_UPDATE of 0"
		}
		c.abort(s, code, Internal, text)
		return nil
	}
	if len(s.unsent) > 0 {
		c.pump(s)
	}
	return nil
}

// goAwayByPeer gives back the streams that the peer will not look at; the rest may
// finish (RFC 9113 section 6.8).
func (c *Conn) goAwayByPeer(f frame) error {
	if f.stream != 0 {
		return violation(ProtocolError, "GOAWAY on stream %d", f.stream)
	}
	if len(f.payload) < 8 {
		return violation(FrameSizeError, "a GOAWAY frame of %d bytes", len(f.payload))
	}
	last := binary.BigEndian.Uint32(f.payload) & maxStreamID
	code := ErrorCode(binary.BigEndian.Uint32(f.payload[4:]))
	c.goneAway, c.goAway = true, fmt.Sprintf("the server goes away: %s", code)
	if debug := f.payload[8:]; len(debug) > 0 {
		c.goAway += fmt.Sprintf(" %q", debug[:min(len(debug), 200)])
	}
	c.giveBackWaiting(c.goAway)
	for _, s := range c.open.all(last) {
		if c.open.find(s.id) == s {
			c.giveBack(s, Status{Unavailable, c.goAway})
		}
	}
	return nil
}
