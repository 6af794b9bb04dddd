package faultproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// http2Method is the start of [http2.ClientPreface], which no HTTP/1.1 request has.
	http2Method = "PRI"
	// tableSize is the size of HPACK's dynamic tables unless SETTINGS change it (RFC 9113, section 6.5.2).
	tableSize = 4096
	// frameHeader is the length of a frame's header.
	frameHeader = 9
)

// frame is a frame as it was read. Its payload is valid until the next is read.
type frame struct {
	http2.FrameHeader
	payload []byte
	fields  []hpack.HeaderField // of HEADERS and the CONTINUATION frames that follow it
}

func (f frame) endsStream() bool {
	switch f.Type {
	case http2.FrameHeaders, http2.FrameData:
		return f.Flags.Has(http2.FlagDataEndStream) // the same bit for both
	}
	return f.Type == http2.FrameRSTStream
}

// data returns the payload of DATA without padding.
func (f frame) data() []byte {
	if !f.Flags.Has(http2.FlagDataPadded) || len(f.payload) == 0 {
		return f.payload
	}
	padding, data := int(f.payload[0]), f.payload[1:]
	return data[:len(data)-min(padding, len(data))]
}

// read reads a frame, or a whole header block. Header blocks are decoded, because the proxy may send them in
// another order, or not at all, and HPACK's dynamic table depends on all.
func (s *side) read() (f frame, err error) {
	if f.FrameHeader, err = s.readFrame(); err != nil || f.Type != http2.FrameHeaders {
		f.payload = s.frame
		return f, err
	}
	block, ok := blockOf(f.FrameHeader, s.frame)
	if !ok {
		return f, http2.ConnectionError(http2.ErrCodeProtocol)
	}
	if !f.Flags.Has(http2.FlagHeadersEndHeaders) {
		block = bytes.Clone(block)
	}
	for next := f.FrameHeader; !next.Flags.Has(http2.FlagHeadersEndHeaders); {
		if next, err = s.readFrame(); err != nil {
			return f, err
		}
		if next.Type != http2.FrameContinuation || next.StreamID != f.StreamID {
			return f, http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if block = append(block, s.frame...); len(block) > maxHeaderList {
			return f, tooLargeError{"a header block", maxHeaderList}
		}
	}
	f.fields, err = decode(s.decoder, block)
	return f, err
}

// readFrame reads the payload of the next frame into s.frame.
func (s *side) readFrame() (http2.FrameHeader, error) {
	header, err := http2.ReadFrameHeader(s.in)
	if err != nil {
		return header, err
	}
	if most := s.frames.most(); header.Length > most {
		return header, tooLargeError{"a frame", int(most)}
	}
	s.frame = append(s.frame[:0], make([]byte, header.Length)...)
	_, err = io.ReadFull(s.in, s.frame)
	return header, err
}

// blockOf returns the header block in the payload of HEADERS, without padding and priority.
func blockOf(header http2.FrameHeader, payload []byte) (block []byte, ok bool) {
	padding := 0
	if header.Flags.Has(http2.FlagHeadersPadded) {
		if len(payload) == 0 {
			return nil, false
		}
		padding, payload = int(payload[0]), payload[1:]
	}
	if header.Flags.Has(http2.FlagHeadersPriority) {
		const priority = 5
		if len(payload) < priority {
			return nil, false
		}
		payload = payload[priority:]
	}
	if padding > len(payload) {
		return nil, false
	}
	return payload[:len(payload)-padding], true
}

// hasFrame reports whether the next frame can be read without waiting, so that writes can be sent with it.
func (s *side) hasFrame() bool {
	if s.in.Buffered() < frameHeader {
		return false
	}
	header, _ := s.in.Peek(frameHeader)
	return s.in.Buffered() >= frameHeader+int(binary.BigEndian.Uint32(header)>>8)
}

// write writes a frame. Call it and the other methods that write with s.mu held. Whoever reads from this end
// learns of errors.
func (s *side) write(f frame) {
	if f.Type != http2.FrameHeaders {
		_ = s.framer.WriteRawFrame(f.Type, f.Flags, f.StreamID, f.payload)
		return
	}
	s.writeHeaders(f.StreamID, f.fields, f.endsStream())
}

func (s *side) writeHeaders(id uint32, fields []hpack.HeaderField, endStream bool) {
	s.block.Reset()
	for _, field := range fields {
		_ = s.encoder.WriteField(field) // a buffer accepts all
	}
	block := s.block.Next(maxFrame)
	_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: endStream, EndHeaders: s.block.Len() == 0})
	for s.block.Len() > 0 {
		block = s.block.Next(maxFrame)
		_ = s.framer.WriteContinuation(id, s.block.Len() == 0, block)
	}
}

// send writes and flushes.
func (s *side) send(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write()
	_ = s.out.Flush()
}

// credit returns the flow-control window of the connection for DATA that this end sent and the proxy dropped.
func (s *side) credit(length int) {
	if length > 0 {
		s.send(func() { _ = s.framer.WriteWindowUpdate(0, uint32(length)) })
	}
}

// keepTables removes SETTINGS_HEADER_TABLE_SIZE from SETTINGS that an end sent: it is about the headers that
// the proxy encodes. The other end encodes with tables of the default size.
func (s *side) keepTables(f frame) frame {
	const size = 6
	var kept []byte
	for rest := f.payload; len(rest) >= size; rest = rest[size:] {
		if http2.SettingID(binary.BigEndian.Uint16(rest)) != http2.SettingHeaderTableSize {
			kept = append(kept, rest[:size]...)
			continue
		}
		s.mu.Lock()
		s.encoder.SetMaxDynamicTableSizeLimit(binary.BigEndian.Uint32(rest[2:]))
		s.mu.Unlock()
	}
	f.payload = kept
	return f
}

// passRequests passes on what the client sends until an end ends the connection.
func (c *connection) passRequests() error {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.client.in, preface); err != nil {
		return err
	}
	c.backend.mu.Lock()
	_, _ = c.backend.out.Write(preface)
	c.backend.mu.Unlock()
	for {
		f, err := c.client.read()
		if err != nil {
			return err
		}
		pass := true
		switch {
		case f.Type == http2.FrameSettings:
			f = c.client.keepTables(f)
			c.backend.frames.raise(f.payload)
		case f.Type == http2.FramePing:
			pass = !c.answerPing(f)
		case f.StreamID != 0:
			pass = c.admit(f)
		}
		c.backend.mu.Lock()
		if pass {
			c.backend.write(f)
		}
		if !c.client.hasFrame() {
			_ = c.backend.out.Flush()
		}
		c.backend.mu.Unlock()
	}
}

// pingGrace is how long the proxy answers PINGs itself after a delayed response. Keepalive waits longer: gRPC sends it
// after 10 s without data at the earliest.
const pingGrace = 2 * time.Second

// answerPing answers a PING soon after a delayed response and reports whether it did. gRPC clients send a PING when
// data arrives, and a server ends a connection that receives many between its own responses (gRFC A8). It has sent
// the delayed ones long before.
func (c *connection) answerPing(f frame) bool {
	c.mu.Lock()
	delayed := time.Since(c.delayed) < pingGrace
	c.mu.Unlock()
	if f.Flags.Has(http2.FlagPingAck) || !delayed || len(f.payload) != len([8]byte{}) {
		return false
	}
	c.client.send(func() { _ = c.client.framer.WritePing(true, [8]byte(f.payload)) })
	return true
}

// passResponses passes on what the backend sends. When the backend ends the connection, passResponses returns
// once the delayed responses are sent.
func (c *connection) passResponses() error {
	for {
		f, err := c.backend.read()
		if err != nil {
			c.awaitHeld()
			return err
		}
		switch f.Type {
		case http2.FrameSettings:
			f = c.backend.keepTables(f)
			c.client.frames.raise(f.payload)
		case http2.FramePushPromise: // its headers would have to be decoded too, and no gRPC client accepts it
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		c.client.mu.Lock()
		if f.StreamID == 0 || c.hold(f, time.Now()) {
			c.client.write(f)
		}
		if !c.backend.hasFrame() {
			_ = c.client.out.Flush()
		}
		c.client.mu.Unlock()
		if c.holdsTooMuch() {
			return tooLargeError{"the delayed part of responses", maxHeld}
		}
	}
}

// size is how many bytes of memory a frame takes, at most.
func (f frame) size() int {
	bytes := int(f.Length)
	for _, field := range f.fields {
		bytes += int(field.Size())
	}
	return bytes
}

// clone returns a frame that stays valid.
func (f frame) clone() frame {
	f.payload = bytes.Clone(f.payload)
	return f
}
