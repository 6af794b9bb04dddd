package wiretest

import (
	"encoding/binary"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// fields makes header fields of "name: value" lines.
func fields(lines ...string) []hpack.HeaderField {
	all := make([]hpack.HeaderField, len(lines))
	for i, line := range lines {
		// A pseudo-header begins with a colon of its own.
		at := strings.Index(line[1:], ": ") + 1
		all[i] = hpack.HeaderField{Name: line[:at], Value: line[at+2:]}
	}
	return all
}

var (
	opening  = fields(":status: 200", "content-type: application/grpc")
	trailing = fields("grpc-status: 0", "grpc-message: ", "rpclab-backend: "+Backend)
)

// prefixed is a message with the five bytes that gRPC puts before it.
func prefixed(compressed byte, message []byte) []byte {
	b := append(make([]byte, 0, 5+len(message)), compressed)
	b = binary.BigEndian.AppendUint32(b, uint32(len(message)))
	return append(b, message...)
}

func (p *serverConn) reply() []byte { return prefixed(0, p.scenario.Reply()) }

// encode is a header block with the server's HPACK state.
func (p *serverConn) encode(fields ...hpack.HeaderField) []byte {
	p.block.Reset()
	for _, f := range fields {
		_ = p.encoder.WriteField(f) // into memory
	}
	return append([]byte(nil), p.block.Bytes()...)
}

// headers writes one HEADERS frame; ending says that it is the last of the stream.
func (p *serverConn) headers(id uint32, ending bool, fields ...hpack.HeaderField) error {
	return p.headerBlock(id, ending, p.encode(fields...))
}

func (p *serverConn) headerBlock(id uint32, ending bool, block []byte) error {
	if ending {
		p.client.ended(id)
	}
	return p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: ending, EndHeaders: true})
}

// ok answers a request as every server does.
func (p *serverConn) ok(id uint32) error {
	if err := p.headers(id, false, opening...); err != nil {
		return err
	}
	return p.rest(id, p.reply(), 16<<10)
}

// rest writes the DATA of a response as the client's windows allow, then the trailers.
func (p *serverConn) rest(id uint32, data []byte, frame int) error {
	p.pending[id] = &pendingResponse{data: data, frame: frame, trailers: trailing}
	return p.resume()
}

// resume sends the responses that waited.
func (p *serverConn) resume() error {
	for id, a := range p.pending {
		for len(a.data) > 0 {
			n := min(int64(len(a.data)), int64(a.frame), p.client.sendWindow, p.client.streamCredits[id])
			if n <= 0 {
				break
			}
			p.client.sendWindow -= n
			p.client.streamCredits[id] -= n
			if err := p.framer.WriteData(id, false, a.data[:n]); err != nil {
				return err
			}
			a.data = a.data[n:]
		}
		if len(a.data) > 0 {
			continue
		}
		delete(p.pending, id)
		if err := p.headers(id, true, a.trailers...); err != nil {
			return err
		}
	}
	return nil
}

// set writes SETTINGS.
func (p *serverConn) set(settings ...http2.Setting) error {
	p.client.offered(settings)
	return p.framer.WriteSettings(settings...)
}

// credit gives n bytes back to both windows.
func (p *serverConn) credit(id, n uint32) error {
	p.client.window += int64(n)
	if err := p.framer.WriteWindowUpdate(0, n); err != nil {
		return err
	}
	return p.creditStream(id, n)
}

func (p *serverConn) creditStream(id, n uint32) error {
	stream := p.client.streams[id]
	if stream == nil {
		return nil
	}
	stream.window += int64(n)
	return p.framer.WriteWindowUpdate(id, n)
}

// reset ends a stream.
func (p *serverConn) reset(id uint32, code http2.ErrCode) error {
	p.client.ended(id)
	return p.framer.WriteRSTStream(id, code)
}

// later holds requests back until the client has seen all that was written before:
// it acknowledges a PING. then is called with all of them.
func (p *serverConn) later(id uint32, then func(p *serverConn, ids []uint32) error) error {
	p.waiting = append(p.waiting, id)
	if len(p.waiting) > 1 {
		return nil
	}
	p.script.pong = func(p *serverConn) error {
		ids := p.waiting
		p.waiting = nil
		return then(p, ids)
	}
	return p.framer.WritePing(false, [8]byte{'l', 'a', 't', 'e', 'r'})
}

// each answers all of them.
func (p *serverConn) each(ids []uint32) error {
	for _, id := range ids {
		if err := p.ok(id); err != nil {
			return err
		}
	}
	return nil
}

// bytes writes what is no frame.
func (p *serverConn) bytes(b ...byte) error {
	_, err := p.out.Write(b)
	return err
}
