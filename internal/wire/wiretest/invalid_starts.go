package wiretest

import (
	"bytes"

	"golang.org/x/net/http2"
)

// starts is a script whose only peculiarity is what it says first.
func starts(first func(*serverConn) error) script { return script{first: first} }

// says writes bytes and waits for what the client makes of them.
func says(b []byte) script { return starts(func(p *serverConn) error { return p.bytes(b...) }) }

// invalidStarts are servers that speak no HTTP/2, or stop to in mid-frame.
func invalidStarts() []Scenario {
	garbage := make([]byte, 4096)
	for i := range garbage {
		garbage[i] = byte(i*i*7 + i>>3)
	}
	return []Scenario{
		{Name: "HTTP/1.1", Source: "RFC 9113, section 3.4", script: says([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))},
		{Name: "TLS on cleartext", Source: "RFC 8446, section 6", script: says([]byte{0x15, 3, 1, 0, 2, 2, 0x46, 0x15, 3, 3, 0, 2, 2, 0})},
		{Name: "garbage", Source: "RFC 9113, section 3.4", script: says(garbage)},
		{Name: "zeros", Source: "RFC 9113, section 3.4", script: says(make([]byte, 4096))},
		{Name: "first frame is a PING", Source: "RFC 9113, section 3.4", script: starts(func(p *serverConn) error {
			return p.framer.WritePing(false, [8]byte{})
		})},
		{Name: "first frame is an acknowledgement", Source: "RFC 9113, section 3.4", script: starts(func(p *serverConn) error {
			return p.framer.WriteSettingsAck()
		})},
		{Name: "closed at once", Source: "RFC 9113, section 5.4", script: starts(func(*serverConn) error { return errEnd })},
		{Name: "closed in a frame header", Source: "RFC 9113, section 5.4", script: answers(func(p *serverConn, _ uint32) error {
			_ = p.bytes(0, 0, 8, 6)
			return errEnd
		})},
		{Name: "closed in a frame", Source: "RFC 9113, section 5.4", script: answers(func(p *serverConn, id uint32) error {
			if err := p.headers(id, false, opening...); err != nil {
				return err
			}
			_ = p.bytes(0, 0, 100, 0, 0, 0, 0, 0, byte(id), 1, 2, 3)
			return errEnd
		})},
		{Name: "closed before the trailers", Source: "RFC 9113, section 5.4", script: answers(func(p *serverConn, id uint32) error {
			if err := p.headers(id, false, opening...); err != nil {
				return err
			}
			_ = p.framer.WriteData(id, false, p.reply())
			return errEnd
		})},
		{Name: "go away with an error", Source: "RFC 9113, section 5.4.1", script: answers(func(p *serverConn, _ uint32) error {
			_ = p.framer.WriteGoAway(1<<31-1, http2.ErrCodeInternal, []byte("broken"))
			return errEnd
		})},
		{Name: "garbage after a good start", Source: "RFC 9113, section 4.1", script: answers(func(p *serverConn, _ uint32) error {
			return p.bytes(bytes.Repeat([]byte{0xff}, 64<<10)...)
		})},
	}
}
