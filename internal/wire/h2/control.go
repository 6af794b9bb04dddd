package h2

import (
	"encoding/binary"
	"fmt"
)

func (c *Conn) settings(f frame) error {
	switch {
	case f.stream != 0:
		return violation(ProtocolError, "SETTINGS on stream %d", f.stream)
	case f.has(flagAck) && len(f.payload) > 0, len(f.payload)%6 != 0:
		return violation(FrameSizeError, "a SETTINGS frame of %d bytes", len(f.payload))
	case f.has(flagAck) && !c.settingsReceived:
		return violation(ProtocolError, "the server acknowledges settings before it sends its own")
	case f.has(flagAck):
		return nil
	}
	before, most := c.streamWindow, c.streamWindow
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
		most = max(most, c.streamWindow)
	}
	if err := c.changeWindows(before, most); err != nil {
		return err
	}
	c.out = appendFrame(c.out, 0, frameSettings, flagAck, 0)
	if err := c.countAck(); err != nil {
		return err
	}
	if !c.settingsReceived {
		c.settingsReceived = true
		c.handler.Ready()
	}
	c.pumpAll()
	c.admit()
	return nil
}

func (c *Conn) setting(id uint16, value uint32) error {
	switch id {
	case settingTable:
		// The fields in the table may no longer fit. Requests do not need the table.
		if value < tableRoom && !c.noTable {
			c.noTable, c.announceTableSize = true, true
		}
	case settingPush:
		if value != 0 { // RFC 9113 section 6.5.2: a server must not
			return violation(ProtocolError, "the server sets ENABLE_PUSH to %d", value)
		}
	case settingStreams:
		c.maxStreams = min(value, c.limits.Streams)
	case settingWindow:
		if value > maxWindow {
			return violation(FlowControlError, "an INITIAL_WINDOW_SIZE of %d", value)
		}
		c.streamWindow = int64(value)
	case settingFrame:
		if value < maxFrame || value > 1<<24-1 {
			return violation(ProtocolError, "a MAX_FRAME_SIZE of %d", value)
		}
		c.maxFrame = int(value)
	}
	return nil
}

// changeWindows changes the windows of the open streams to the initial window that a SETTINGS frame has
// set. A frame has room for thousands of values; before is the value before them, most is the largest.
func (c *Conn) changeWindows(before, most int64) error {
	if most == before && c.streamWindow == before {
		return nil
	}
	for _, s := range c.open.all(0) { // RFC 9113 section 6.9.2: a window may go below zero
		if s.window+most-before > maxWindow {
			return violation(FlowControlError, "an INITIAL_WINDOW_SIZE of %d makes the window of stream %d overflow", most, s.id)
		}
		s.window += c.streamWindow - before
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
	return c.countAck()
}

// Ping sends a PING, RFC 9113 section 6.7. Any frame of the peer counts as a response.
func (c *Conn) Ping() {
	c.out = append(appendFrame(c.out, 8, framePing, 0, 0), 0, 0, 0, 0, 0, 0, 0, 0)
}

// countAck limits the acknowledgements that the peer makes this side store.
func (c *Conn) countAck() error {
	if c.acks++; c.acks > maxAcks {
		return violation(EnhanceYourCalm, "over %d PING and SETTINGS frames, and the server reads no acknowledgement", maxAcks)
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

// goAwayByPeer gives back the streams that the peer will not process. The others may finish (RFC
// 9113 section 6.8).
func (c *Conn) goAwayByPeer(f frame) error {
	if f.stream != 0 {
		return violation(ProtocolError, "GOAWAY on stream %d", f.stream)
	}
	if len(f.payload) < 8 {
		return violation(FrameSizeError, "a GOAWAY frame of %d bytes", len(f.payload))
	}
	last := binary.BigEndian.Uint32(f.payload) & maxStreamID
	code := ErrorCode(binary.BigEndian.Uint32(f.payload[4:]))
	c.gotGoAway, c.goAwayReason = true, fmt.Sprintf("the server sent GOAWAY: %s", code)
	if debug := f.payload[8:]; len(debug) > 0 {
		c.goAwayReason += fmt.Sprintf(" %q", debug[:min(len(debug), 200)])
	}
	c.giveBackWaiting(c.goAwayReason)
	for _, s := range c.open.all(last) {
		if c.open.find(s.id) == s {
			c.giveBack(s, Status{Unavailable, c.goAwayReason})
		}
	}
	return nil
}
