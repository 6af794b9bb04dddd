package wiretest

import "golang.org/x/net/http2"

// invalidStreams are frames on streams where they must not be.
func invalidStreams() []Scenario {
	const idle = 1000 // above the stream of the call
	trailers := literals(0, trailing...)
	whole := http2.FlagHeadersEndHeaders
	return []Scenario{
		{Name: "HEADERS on stream 0", Source: "RFC 9113, section 6.2", script: frame(http2.FrameHeaders, whole, 0, trailers...)},
		{Name: "DATA on stream 0", Source: "RFC 9113, section 6.1", script: frame(http2.FrameData, 0, 0, 1)},
		{Name: "RST_STREAM on stream 0", Source: "RFC 9113, section 6.4", script: frame(http2.FrameRSTStream, 0, 0, 0, 0, 0, 0)},
		{Name: "PRIORITY on stream 0", Source: "RFC 9113, section 6.3", script: frame(http2.FramePriority, 0, 0, make([]byte, 5)...)},
		{Name: "CONTINUATION on stream 0", Source: "RFC 9113, section 6.10", script: frame(http2.FrameContinuation, whole, 0)},
		{Name: "HEADERS on an even stream", Source: "RFC 9113, section 5.1.1", script: frame(http2.FrameHeaders, whole, 2, trailers...)},
		{Name: "DATA on an even stream", Source: "RFC 9113, section 5.1", script: frame(http2.FrameData, 0, 2, 1)},
		{Name: "HEADERS on an idle stream", Source: "RFC 9113, section 5.1", script: frame(http2.FrameHeaders, whole, 1+idle, trailers...)},
		{Name: "DATA on an idle stream", Source: "RFC 9113, section 5.1", script: frame(http2.FrameData, 0, 1+idle, 1)},
		{Name: "RST_STREAM on an idle stream", Source: "RFC 9113, section 5.1", script: frame(http2.FrameRSTStream, 0, 1+idle, 0, 0, 0, 0)},
		{Name: "WINDOW_UPDATE on an idle stream", Source: "RFC 9113, section 5.1", script: frame(http2.FrameWindowUpdate, 0, 1+idle, 0, 0, 0, 1)},
		{Name: "PUSH_PROMISE", Source: "RFC 9113, section 8.4", script: frame(http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, 1, append([]byte{0, 0, 0, 2}, trailers...)...)},
		{Name: "CONTINUATION alone", Source: "RFC 9113, section 6.10", script: frame(http2.FrameContinuation, whole, 1, trailers...)},
		{Name: "header block that is interrupted", Source: "RFC 9113, section 6.2", script: answers(func(p *serverConn, id uint32) error {
			if err := p.framer.WriteRawFrame(http2.FrameHeaders, 0, id, p.encode(opening...)); err != nil {
				return err
			}
			return p.framer.WriteData(id, false, p.reply())
		})},
		{Name: "header block that continues on another stream", Source: "RFC 9113, section 6.10", script: answers(func(p *serverConn, id uint32) error {
			if err := p.framer.WriteRawFrame(http2.FrameHeaders, 0, id, p.encode(opening...)); err != nil {
				return err
			}
			return p.framer.WriteRawFrame(http2.FrameContinuation, whole, id+2, nil)
		})},
		{Name: "DATA before HEADERS", Source: "RFC 9113, section 8.1", script: answers(func(p *serverConn, id uint32) error {
			return p.framer.WriteData(id, false, p.reply())
		})},
		{Name: "an end before HEADERS", Source: "RFC 9113, section 8.1", script: answers(func(p *serverConn, id uint32) error {
			p.client.ended(id)
			return p.framer.WriteData(id, true, nil)
		})},
		{Name: "an end without trailers", Source: "gRPC over HTTP/2, Responses", Want: Want{Codes: append([]string{"UNKNOWN"}, broken...)},
			script: afterHeaders(func(p *serverConn, id uint32) error {
				p.client.ended(id)
				return p.framer.WriteData(id, true, p.reply())
			})},
		{Name: "trailers that do not end the stream", Source: "RFC 9113, section 8.1", script: afterHeaders(func(p *serverConn, id uint32) error {
			if err := p.framer.WriteData(id, false, p.reply()); err != nil {
				return err
			}
			return p.headers(id, false, trailing...)
		})},
	}
}
