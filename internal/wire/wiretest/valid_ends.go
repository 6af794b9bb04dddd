package wiretest

import (
	"maps"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2"
)

// validEnds are servers that end streams and connections early.
func validEnds() []Scenario {
	return []Scenario{
		{Name: "the first stream is refused", Source: "RFC 9113, section 8.7", script: script{
			answer: func(p *serverConn, id uint32) error {
				if p.answered == 1 {
					return p.reset(id, http2.ErrCodeRefusedStream)
				}
				return p.ok(id)
			},
		}},
		{Name: "streams are reset without an error after the answer", Source: "RFC 9113, section 8.1", name: 100 << 10, script: script{
			headers: func(p *serverConn, id uint32) error {
				if err := p.ok(id); err != nil {
					return err
				}
				return p.framer.WriteRSTStream(id, http2.ErrCodeNo)
			},
		}},
		{Name: "answers before the request has ended", Source: "RFC 9113, section 8.1", name: 100 << 10, script: script{
			headers: (*serverConn).ok,
		}},
		{Name: "go away, gracefully, after every fourth answer", Source: "RFC 9113, section 6.8", Calls: 40, script: script{answer: goAwayGracefully}},
		{Name: "go away with every answer, while others wait for a stream", Source: "RFC 9113, sections 5.1.2 and 6.8", Calls: 40, InFlight: 20, script: script{
			settings: []http2.Setting{setting(http2.SettingMaxConcurrentStreams, 1)},
			answer: func(p *serverConn, id uint32) error {
				if err := p.framer.WriteGoAway(id, http2.ErrCodeNo, nil); err != nil {
					return err
				}
				return p.ok(id)
			},
		}},
		{Name: "go away, below open streams", Source: "RFC 9113, section 6.8", script: script{connections: 1, answer: goAwayBelow}},
		{Name: "go away with the first frame", Source: "RFC 9113, section 6.8", script: script{
			connections: 1,
			first: func(p *serverConn) error {
				if err := p.set(); err != nil {
					return err
				}
				return p.framer.WriteGoAway(0, http2.ErrCodeNo, []byte("not here"))
			},
			answer: func(*serverConn, uint32) error { return nil },
		}},
		{Name: "go away and half close", Source: "RFC 9113, section 6.8; RFC 9293, section 3.6", Calls: 12, InFlight: 1, script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.framer.WriteGoAway(id, http2.ErrCodeNo, nil); err != nil {
					return err
				}
				if err := p.ok(id); err != nil {
					return err
				}
				return p.conn.(*net.TCPConn).CloseWrite()
			},
		}},
		{Name: "half close in mid-call", Source: "gRPC over HTTP/2, Errors", Calls: 6, InFlight: 1, Want: Want{Codes: broken}, script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, opening...); err != nil {
					return err
				}
				return p.conn.(*net.TCPConn).CloseWrite()
			},
		}},
		{Name: "no answer", Source: "gRPC over HTTP/2, Timeout", Calls: 4, Timeout: 100 * time.Millisecond,
			Want: Want{Codes: []string{"DEADLINE_EXCEEDED"}}, script: script{
				answer: func(*serverConn, uint32) error { return nil },
			}},
		{Name: "an answer without an end", Source: "gRPC over HTTP/2, Timeout", Calls: 4, Timeout: 100 * time.Millisecond,
			Want: Want{Codes: []string{"DEADLINE_EXCEEDED"}}, script: script{
				answer: func(p *serverConn, id uint32) error {
					if err := p.headers(id, false, opening...); err != nil {
						return err
					}
					return p.framer.WriteData(id, false, p.reply())
				},
			}},
	}
}

// goAwayGracefully sends GOAWAY in two steps, because requests may be in
// flight, and responds to the requests that arrived before the second.
func goAwayGracefully(p *serverConn, id uint32) error {
	if p.answered != 4 {
		return p.ok(id)
	}
	if err := p.framer.WriteGoAway(1<<31-1, http2.ErrCodeNo, []byte("soon")); err != nil {
		return err
	}
	return p.later(id, func(p *serverConn, ids []uint32) error {
		if err := p.framer.WriteGoAway(p.client.lastID, http2.ErrCodeNo, []byte("now")); err != nil {
			return err
		}
		return p.each(ids)
	})
}

// goAwayBelow responds on the lowest of the open streams and on no other: the client has to make the
// other calls again, on a new connection.
func goAwayBelow(p *serverConn, id uint32) error {
	return p.later(id, func(p *serverConn, ids []uint32) error {
		// Requests end in any order, so the lowest stream may still be sending its request.
		lowest := slices.Min(slices.Collect(maps.Keys(p.client.streams)))
		if err := p.framer.WriteGoAway(lowest, http2.ErrCodeNo, nil); err != nil {
			return err
		}
		for id := range p.client.streams {
			if id != lowest {
				p.client.ended(id)
			}
		}
		p.script.answer = func(p *serverConn, id uint32) error {
			if id != lowest {
				return nil
			}
			return p.ok(id)
		}
		if !slices.Contains(ids, lowest) {
			return nil
		}
		return p.ok(lowest)
	})
}
