package wiretest

import "golang.org/x/net/http2"

// validFlowControl are servers that are mean with flow control, and responses that need the
// client's.
func validFlowControl() []Scenario {
	return []Scenario{
		{Name: "stream window of one byte", Source: "RFC 9113, section 6.9.1", name: 30, Calls: 8, script: script{
			settings: []http2.Setting{setting(http2.SettingInitialWindowSize, 1)},
		}},
		{Name: "stream window of nothing, opened later", Source: "RFC 9113, section 6.9.2", script: script{
			settings: []http2.Setting{setting(http2.SettingInitialWindowSize, 0)},
			headers:  func(p *serverConn, id uint32) error { return p.creditStream(id, 100) },
		}},
		{Name: "connection window of a hundred bytes", Source: "RFC 9113, section 6.9.1", name: 14 << 10, Calls: 5, script: script{data: mean}},
		{Name: "window updates of streams that have ended", Source: "RFC 9113, section 6.9", script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.ok(id); err != nil {
					return err
				}
				return p.framer.WriteWindowUpdate(id, 1000)
			},
		}},
		{Name: "large answers", Source: "RFC 9113, section 5.2", answer: 3 << 20, Calls: 8},
		{Name: "large answers in small frames", Source: "RFC 9113, section 6.1", answer: 200 << 10, Calls: 8, script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, opening...); err != nil {
					return err
				}
				return p.rest(id, p.reply(), 100)
			},
		}},
		{Name: "large requests and answers", Source: "RFC 9113, section 5.2", name: 1 << 20, answer: 1 << 20, Calls: 8},
	}
}

// mean gives a stream all that it needs but the connection only a hundred bytes at a
// time, and those only when nothing is left.
func mean(p *serverConn, id, n uint32) error {
	if err := p.creditStream(id, n); err != nil {
		return err
	}
	if p.client.window > 0 {
		return nil
	}
	p.client.window += 100
	return p.framer.WriteWindowUpdate(0, 100)
}
