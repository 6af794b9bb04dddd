package wiretest

import "golang.org/x/net/http2"

func setting(id http2.SettingID, value uint32) http2.Setting {
	return http2.Setting{ID: id, Val: value}
}

// validSettings are servers whose SETTINGS are unusual or change in mid-flight.
func validSettings() []Scenario {
	return []Scenario{
		{Name: "plain", Source: "RFC 9113; gRPC over HTTP/2"},
		{Name: "settings of many kinds, some unknown, some twice", Source: "RFC 9113, section 6.5.2", script: script{
			settings: []http2.Setting{
				setting(http2.SettingMaxFrameSize, 1<<24-1), setting(0xf0f0, 7), setting(http2.SettingMaxHeaderListSize, 1<<14),
				setting(http2.SettingEnablePush, 0), setting(http2.SettingMaxFrameSize, 1<<14), setting(0x9, 1),
			},
		}},
		{Name: "settings with every answer", Source: "RFC 9113, section 6.5.3", script: script{answer: settingsWithAnswers}},
		{Name: "header table of size 0", Source: "RFC 7541, section 4.2", script: script{
			settings: []http2.Setting{setting(http2.SettingHeaderTableSize, 0)},
		}},
		{Name: "header table that comes and goes", Source: "RFC 7541, section 4.2", script: script{
			answer: func(p *serverConn, id uint32) error {
				if err := p.set(setting(http2.SettingHeaderTableSize, uint32(p.answered%2)*4096)); err != nil {
					return err
				}
				return p.ok(id)
			},
		}},
		{Name: "one stream at a time", Source: "RFC 9113, section 5.1.2", script: script{
			settings: []http2.Setting{setting(http2.SettingMaxConcurrentStreams, 1)},
		}},
		{Name: "no stream at first, then two", Source: "RFC 9113, section 6.5.2", script: script{
			settings: []http2.Setting{setting(http2.SettingMaxConcurrentStreams, 0)},
			acked: func(p *serverConn, n int) error {
				if n > 1 {
					return nil
				}
				p.script.pong = func(p *serverConn) error { return p.set(setting(http2.SettingMaxConcurrentStreams, 2)) }
				return p.framer.WritePing(false, [8]byte{1})
			},
		}},
		{Name: "fewer streams than are open", Source: "RFC 9113, section 5.1.2", script: script{
			answer: func(p *serverConn, id uint32) error {
				if p.answered != 1 {
					return p.ok(id)
				}
				if err := p.set(setting(http2.SettingMaxConcurrentStreams, 1)); err != nil {
					return err
				}
				return p.later(id, (*serverConn).each)
			},
		}},
		{Name: "window that shrinks below zero", Source: "RFC 9113, section 6.9.2", name: 200 << 10, Calls: 6, InFlight: 1,
			script: script{headers: reopen, data: shrink}},
		{Name: "window that grows in mid-flight", Source: "RFC 9113, section 6.9.2", name: 100 << 10, Calls: 6, InFlight: 1, script: script{
			settings: []http2.Setting{setting(http2.SettingInitialWindowSize, 1000)},
			data: func(p *serverConn, _, n uint32) error {
				// Streams get their credit by SETTINGS alone, the connection by WINDOW_UPDATE.
				p.client.window += int64(n)
				if err := p.framer.WriteWindowUpdate(0, n); err != nil {
					return err
				}
				return p.set(setting(http2.SettingInitialWindowSize, uint32(p.client.initial)+n))
			},
		}},
	}
}

func settingsWithAnswers(p *serverConn, id uint32) error {
	n := uint32(p.answered)
	err := p.set(
		setting(http2.SettingMaxFrameSize, 1<<14+n), setting(http2.SettingInitialWindowSize, 1000+n),
		setting(http2.SettingHeaderTableSize, 100*n), setting(http2.SettingMaxConcurrentStreams, 10+n),
	)
	if err != nil {
		return err
	}
	return p.ok(id)
}

// reopen gives a new stream a window again after [shrink].
func reopen(p *serverConn, _ uint32) error {
	if p.client.initial > 0 {
		return nil
	}
	return p.set(setting(http2.SettingInitialWindowSize, defaultWindow))
}

// shrink sets the window of a stream below zero once DATA has arrived, then to zero, and
// then opens it.
func shrink(p *serverConn, id, n uint32) error {
	p.client.window += int64(n)
	if err := p.framer.WriteWindowUpdate(0, n); err != nil {
		return err
	}
	stream := p.client.streams[id]
	if stream == nil || p.client.initial == 0 || len(p.client.unacked) > 0 {
		return nil
	}
	if err := p.set(setting(http2.SettingInitialWindowSize, 0)); err != nil {
		return err
	}
	p.script.acked = func(p *serverConn, _ int) error {
		stream := p.client.streams[id]
		if stream == nil || stream.window > 0 {
			return nil
		}
		// Byte by byte to zero, while the client must keep silent, and over it.
		for range 3 {
			if err := p.creditStream(id, 1); err != nil {
				return err
			}
		}
		return p.creditStream(id, uint32(-stream.window)+256<<10)
	}
	return nil
}
