package wiretest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// validHeaders are servers whose header blocks and encodings are unusual.
func validHeaders() []Scenario {
	return []Scenario{
		{Name: "interim answers", Source: "RFC 9113, section 8.1; RFC 8297", script: script{
			answer: func(p *serverConn, id uint32) error {
				for _, status := range []string{"100", "103", "103"} {
					if err := p.headers(id, false, fields(":status: "+status, "link: </a>; rel=preload")...); err != nil {
						return err
					}
				}
				return p.ok(id)
			},
		}},
		{Name: "plain literals, never indexed", Source: "RFC 7541, section 6.2.3", script: script{
			answer: func(p *serverConn, id uint32) error { return p.literally(id, 0x10) },
		}},
		{Name: "plain literals, not indexed", Source: "RFC 7541, section 6.2.2", script: script{
			answer: func(p *serverConn, id uint32) error { return p.literally(id, 0x00) },
		}},
		{Name: "header table that is always in motion", Source: "RFC 7541, section 4", Calls: 200, script: script{
			answer: func(p *serverConn, id uint32) error {
				churn := fields(fmt.Sprintf("x-churn: %d %s", p.answered, strings.Repeat("c", p.answered)), fmt.Sprintf("x-%d: z", p.answered))
				if err := p.headers(id, false, append(append(fields(":status: 200"), churn...), opening[1:]...)...); err != nil {
					return err
				}
				return p.rest(id, p.reply(), 16<<10)
			},
		}},
		{Name: "table size updates in header blocks", Source: "RFC 7541, section 6.3", script: script{
			answer: func(p *serverConn, id uint32) error {
				p.encoder.SetMaxDynamicTableSize(uint32(p.answered%3) * 100)
				return p.ok(id)
			},
		}},
		{Name: "metadata of many kinds", Source: "gRPC over HTTP/2, Custom-Metadata", script: script{answer: withMetadata}},
		{Name: "content type with a suffix", Source: "gRPC over HTTP/2, Content-Type", script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, fields(":status: 200", "content-type: application/grpc+proto")...); err != nil {
					return err
				}
				return p.rest(id, p.reply(), 16<<10)
			},
		}},
		{Name: "answers by gzip", Source: "gRPC over HTTP/2, Message-Encoding", answer: 10 << 10, script: script{
			answer: func(p *serverConn, id uint32) error {
				return p.encoded(id, "gzip", prefixed(1, zipped(p.scenario.Reply())))
			},
		}},
		{Name: "gzip announced and not used", Source: "gRPC over HTTP/2, Compressed-Flag", script: script{
			answer: func(p *serverConn, id uint32) error { return p.encoded(id, "gzip", p.reply()) },
		}},
		{Name: "identity announced", Source: "gRPC over HTTP/2, Message-Encoding", script: script{
			answer: func(p *serverConn, id uint32) error { return p.encoded(id, "identity", p.reply()) },
		}},
	}
}

func (p *serverConn) encoded(id uint32, encoding string, data []byte) error {
	if err := p.headers(id, false, append(fields(":status: 200", "grpc-encoding: "+encoding), opening[1:]...)...); err != nil {
		return err
	}
	return p.rest(id, data, 16<<10)
}

func zipped(message []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(message) // into memory
	_ = w.Close()
	return b.Bytes()
}

// literally answers with header blocks of plain literals of one kind: no Huffman
// code, no index. RFC 7541, section 6.2.
func (p *serverConn) literally(id uint32, kind byte) error {
	if err := p.headerBlock(id, false, literals(kind, opening...)); err != nil {
		return err
	}
	if err := p.framer.WriteData(id, false, p.reply()); err != nil {
		return err
	}
	return p.headerBlock(id, true, literals(kind, trailing...))
}

// literals is a header block of literals with new names.
func literals(kind byte, fields ...hpack.HeaderField) (block []byte) {
	for _, f := range fields {
		block = append(block, kind)
		for _, text := range []string{f.Name, f.Value} {
			block = append(length(block, len(text)), text...)
		}
	}
	return block
}

// length appends the length of a plain string: an integer with a prefix of 7 bits,
// RFC 7541, sections 5.1 and 5.2.
func length(b []byte, n int) []byte {
	if n < 127 {
		return append(b, byte(n))
	}
	b = append(b, 127)
	for n -= 127; n >= 128; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func withMetadata(p *serverConn, id uint32) error {
	many := fields(":status: 200", "x-twice: a", "x-twice: b", "x-data-bin: AAEC/w==", "x-data-bin: AAEC", "x-empty: ", "x-space: a b  c")
	many = append(many, opening[1:]...)
	for i := range 50 {
		many = append(many, fields(fmt.Sprintf("x-%d: %s", i, strings.Repeat("v", 100)))...)
	}
	if err := p.headers(id, false, many...); err != nil {
		return err
	}
	return p.rest(id, p.reply(), 16<<10)
}
