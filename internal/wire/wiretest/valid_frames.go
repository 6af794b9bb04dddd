package wiretest

import (
	"golang.org/x/net/http2"
)

// validFrames are servers that use every frame and flag that HTTP/2 has.
func validFrames() []Scenario {
	return []Scenario{
		{Name: "header blocks in many pieces", Source: "RFC 9113, section 6.10", script: script{answer: inPieces}},
		{Name: "padding everywhere", Source: "RFC 9113, sections 6.1 and 6.2", script: script{answer: padded}},
		{Name: "empty DATA frames", Source: "RFC 9113, section 6.1", script: script{answer: withEmptyData}},
		{Name: "a PING with every answer", Source: "RFC 9113, section 6.7", script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.framer.WritePing(false, [8]byte{byte(id)}); err != nil {
					return err
				}
				return p.ok(id)
			},
		}},
		{Name: "unknown frame types", Source: "RFC 9113, section 5.5", script: script{
			answer: func(p *serverConn, id uint32) error {
				for i, on := range []uint32{0, id, id + 2000, 2} {
					if err := p.framer.WriteRawFrame(http2.FrameType(0xa+i), 0xff, on, make([]byte, 1000*i)); err != nil {
						return err
					}
				}
				return p.ok(id)
			},
		}},
		{Name: "undefined flags and the reserved bit", Source: "RFC 9113, section 4.1", script: script{
			answer: func(p *serverConn, id uint32) error {
				const undefined = 0xff &^ (0x1 | 0x4 | 0x8 | 0x20)
				if err := p.framer.WriteRawFrame(http2.FrameHeaders, undefined|http2.FlagHeadersEndHeaders, id|1<<31, p.encode(opening...)); err != nil {
					return err
				}
				if err := p.framer.WriteRawFrame(http2.FrameData, undefined, id|1<<31, p.reply()); err != nil {
					return err
				}
				return p.headers(id, true, trailing...)
			},
		}},
		{Name: "priorities", Source: "RFC 9113, sections 5.3.2 and 6.3", script: script{
			answer: func(p *serverConn, id uint32) error {
				for _, on := range []uint32{id, id + 100} { // the second is idle
					if err := p.framer.WritePriority(on, http2.PriorityParam{StreamDep: 0, Weight: 200}); err != nil {
						return err
					}
				}
				err := p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(opening...), EndHeaders: true,
					Priority: http2.PriorityParam{StreamDep: id + 2, Exclusive: true, Weight: 1}, PadLength: 3})
				if err != nil {
					return err
				}
				return p.rest(id, p.reply(), 16<<10)
			},
		}},
		{Name: "messages across frames at every byte", Source: "gRPC over HTTP/2, Length-Prefixed-Message", Calls: 40, script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, opening...); err != nil {
					return err
				}
				return p.rest(id, p.reply(), 1+p.answered%len(p.reply()))
			},
		}},
	}
}

// inPieces writes each header block as HEADERS and CONTINUATION frames of one byte,
// the last of them empty.
func inPieces(p *serverConn, id uint32) error {
	if err := p.pieces(id, 0, p.encode(opening...)); err != nil {
		return err
	}
	if err := p.framer.WriteData(id, false, p.reply()); err != nil {
		return err
	}
	p.client.ended(id)
	return p.pieces(id, http2.FlagHeadersEndStream, p.encode(trailing...))
}

func (p *serverConn) pieces(id uint32, flags http2.Flags, block []byte) error {
	if err := p.framer.WriteRawFrame(http2.FrameHeaders, flags, id, block[:1]); err != nil {
		return err
	}
	for _, b := range block[1:] {
		if err := p.framer.WriteRawFrame(http2.FrameContinuation, 0, id, []byte{b}); err != nil {
			return err
		}
	}
	return p.framer.WriteRawFrame(http2.FrameContinuation, http2.FlagContinuationEndHeaders, id, nil)
}

// padded pads each frame by a length that changes from call to call.
func padded(p *serverConn, id uint32) error {
	n := uint8(p.answered * 37)
	err := p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(opening...), EndHeaders: true, PadLength: n})
	if err != nil {
		return err
	}
	reply := p.reply()
	for _, piece := range [][]byte{reply[:3], nil, reply[3:]} {
		if err := p.framer.WriteDataPadded(id, false, piece, make([]byte, n)); err != nil {
			return err
		}
	}
	p.client.ended(id)
	return p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(trailing...), EndHeaders: true, EndStream: true, PadLength: 255})
}

func withEmptyData(p *serverConn, id uint32) error {
	if err := p.headers(id, false, opening...); err != nil {
		return err
	}
	reply := p.reply()
	for _, piece := range [][]byte{nil, nil, reply[:4], nil, reply[4:5], nil, reply[5:], nil} {
		if err := p.framer.WriteData(id, false, piece); err != nil {
			return err
		}
	}
	return p.headers(id, true, trailing...)
}
