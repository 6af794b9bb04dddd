package wiretest

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// block is a script that answers with a raw header block.
func block(b ...byte) script {
	return answers(func(p *serverConn, id uint32) error { return p.headerBlock(id, false, b) })
}

// invalidBlocks are header blocks that HPACK forbids, and those meant to exhaust.
func invalidBlocks() []Scenario {
	exhausted := Want{Codes: append([]string{"RESOURCE_EXHAUSTED"}, broken...)}
	all := []Scenario{
		{Name: "index 0", Source: "RFC 7541, section 6.1", script: block(0x80)},
		{Name: "index out of range", Source: "RFC 7541, section 2.3.3", script: block(0xff, 0x80, 0x01)},
		{Name: "integer without an end", Source: "RFC 7541, section 5.1", script: block(0xff, 0xff)},
		{Name: "integer that overflows", Source: "RFC 7541, section 5.1", script: block(slices.Concat([]byte{0xff}, bytes.Repeat([]byte{0xff}, 12), []byte{1})...)},
		{Name: "name without an end", Source: "RFC 7541, section 5.2", script: block(0x88, 0x00, 0x05, 'a', 'b')},
		{Name: "table larger than it may be", Source: "RFC 7541, section 6.3", script: block(0x3f, 0xff, 0xff, 0xff, 0x07, 0x88)},
		{Name: "table resized in mid-block", Source: "RFC 7541, section 4.2", script: block(0x88, 0x40, 1, 'x', 1, 'y', 0x20)},
		{Name: "Huffman code with its end of string", Source: "RFC 7541, section 5.2", script: block(0x88, 0x00, 0x01, 'a', 0x84, 0xff, 0xff, 0xff, 0xff)},
		{Name: "Huffman code with zeros for padding", Source: "RFC 7541, section 5.2", script: block(0x88, 0x00, 0x01, 'a', 0x81, 0x00)},
		{Name: "random header block", Source: "RFC 7541", script: block(0xde, 0xad, 0xbe, 0xef, 0xfa, 0xce, 0x13, 0x37, 0x7f, 0xff)},
		{Name: "header bomb by references", Source: "RFC 9113, section 10.5.1", Want: exhausted, script: answers(func(p *serverConn, id uint32) error {
			// One entry of 4 kB in the table, then 16,000 references of a byte each: 64 MB.
			entry := append(length([]byte{0x40, 1, 'x'}, 4000), bytes.Repeat([]byte{'b'}, 4000)...)
			return p.headerBlock(id, false, slices.Concat(entry, bytes.Repeat([]byte{0xbe}, 12000)))
		})},
		{Name: "header list of 32 MB", Source: "RFC 9113, section 10.5.1", Want: exhausted, script: answers(func(p *serverConn, id uint32) error {
			return p.flood(id, literals(0, hpack.HeaderField{Name: "x", Value: strings.Repeat("b", 16000)}), 2000)
		})},
		{Name: "CONTINUATION without an end", Source: "RFC 9113, section 10.5", Want: exhausted, script: answers(func(p *serverConn, id uint32) error {
			return p.flood(id, literals(0, fields("x: y")...), 500_000)
		})},
		{Name: "empty CONTINUATION without an end", Source: "RFC 9113, section 10.5", Want: exhausted, script: answers(func(p *serverConn, id uint32) error {
			return p.flood(id, nil, 500_000)
		})},
	}
	return all
}

// flood sends a header block of many CONTINUATION frames that never ends. When the
// client accepts all of them, the call ends at its deadline, which no such scenario expects.
func (p *serverConn) flood(id uint32, piece []byte, frames int) error {
	if err := p.framer.WriteRawFrame(http2.FrameHeaders, 0, id, literals(0, opening...)); err != nil {
		return err
	}
	const each = 64 << 10 // bytes a write
	p.out.hold = true
	for range frames {
		if err := p.framer.WriteRawFrame(http2.FrameContinuation, 0, id, piece); err != nil {
			return err
		}
		if len(p.out.held) >= each {
			if err := p.out.flush(); err != nil {
				return err
			}
		}
	}
	p.out.hold = false
	return p.out.flush()
}
