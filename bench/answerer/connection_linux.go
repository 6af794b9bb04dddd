package main

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Frame types and flags, RFC 9113, section 6.
const (
	frameData, frameHeaders, frameSettings, framePing, frameWindow byte = 0, 1, 4, 6, 8

	flagEnd, flagAck, flagEndHeaders byte = 1, 1, 4

	prefaceSize = 24
	headerSize  = 9
)

// answers are the frames of an answer, with 0 as stream id.
type answers struct {
	// The first answer of a connection fills the header table (HPACK). All later answers refer to
	// the table, and are equal.
	first, next []byte
	plain       bool // HTTP/1.1, which has no header table
}

func newAnswers(message []byte) answers {
	data := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	data = append(data, message...)
	// RFC 7541: 0x88 is ":status: 200", 0x5f a new entry named content-type, 0x40 a new entry with
	// a new name. 0xbf and 0xbe refer to these two entries.
	head := append([]byte{0x88, 0x5f, 16}, "application/grpc"...)
	tail := append([]byte{0x40, 11}, "grpc-status\x010"...)
	return answers{first: answer(head, data, tail), next: answer([]byte{0x88, 0xbf}, data, []byte{0xbe})}
}

// plainAnswers answer HTTP/1.1 requests.
func plainAnswers() answers { return answers{next: []byte(hello), plain: true} }

func answer(head, data, tail []byte) []byte {
	return slices.Concat(
		frame(frameHeaders, flagEndHeaders, head), frame(frameData, 0, data), frame(frameHeaders, flagEndHeaders|flagEnd, tail))
}

func frame(kind, flags byte, payload []byte) []byte {
	n := len(payload)
	return append([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, 0}, payload...)
}

// connection is the server's side of a connection, without input and output.
type connection struct {
	answers *answers
	begun   bool // the client's preface has arrived
	warm    bool // the header table is filled
	calls   int
	rest    []byte // an incomplete frame
	out     []byte // to be written
}

// feed handles bytes that were read, and appends the answers to out.
func (c *connection) feed(b []byte) error {
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		b = c.rest
	}
	if c.answers.plain {
		n, b := plainRequests(b)
		c.calls += n
		for range n {
			c.out = append(c.out, c.answers.next...)
		}
		c.rest = append(c.rest[:0], b...)
		return nil
	}
	if !c.begun && len(b) >= prefaceSize {
		c.begun = true
		b = b[prefaceSize:]
		c.out = append(c.out, frame(frameSettings, 0, nil)...)
		// The largest window, 2^31-1 less the initial one, so that no other update is needed.
		c.out = append(c.out, frame(frameWindow, 0, []byte{0x7f, 0xff, 0, 0})...)
	}
	for c.begun && len(b) >= headerSize {
		size := headerSize + (int(b[0])<<16 | int(b[1])<<8 | int(b[2]))
		if size > 1<<14+headerSize {
			return fmt.Errorf("a frame has %d bytes, more than the 16 KiB of HTTP/2's default", size)
		}
		if len(b) < size {
			break
		}
		c.handle(b[3], b[4], b[5:headerSize], b[headerSize:size])
		b = b[size:]
	}
	c.rest = append(c.rest[:0], b...)
	return nil
}

// handle answers one frame.
func (c *connection) handle(kind, flags byte, id, payload []byte) {
	switch {
	case (kind == frameData || kind == frameHeaders) && flags&flagEnd != 0:
		c.answer(id)
	case kind == frameSettings && flags&flagAck == 0:
		c.out = append(c.out, frame(frameSettings, flagAck, nil)...)
	case kind == framePing && flags&flagAck == 0:
		c.out = append(c.out, frame(framePing, flagAck, payload)...)
	}
}

func (c *connection) answer(id []byte) {
	c.calls++
	template := c.answers.next
	if !c.warm {
		c.warm = true
		template = c.answers.first
	}
	at := len(c.out)
	c.out = append(c.out, template...)
	for at < len(c.out) {
		size := int(c.out[at])<<16 | int(c.out[at+1])<<8 | int(c.out[at+2])
		copy(c.out[at+5:], id)
		at += headerSize + size
	}
}
