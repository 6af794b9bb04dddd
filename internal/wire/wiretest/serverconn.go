package wiretest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func newServerConn(s *Scenario, conn net.Conn, number int) *serverConn {
	p := &serverConn{scenario: s, script: s.script, conn: conn, out: &output{conn: conn}, pending: map[uint32]*pendingResponse{}}
	if s.script.connections > 0 && number > s.script.connections {
		p.script = script{}
	}
	if p.script.output != nil {
		p.script.output(p.out)
	}
	p.framer = http2.NewFramer(p.out, conn)
	p.framer.AllowIllegalWrites = true
	p.encoder = hpack.NewEncoder(&p.block)
	p.client.init()
	return p
}

// serve runs the scenario until either side closes the connection.
func (p *serverConn) serve() error {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(p.conn, preface); err != nil {
		return err
	}
	if string(preface) != http2.ClientPreface {
		return violated("its preface is %q (RFC 9113, section 3.4)", preface)
	}
	first := p.script.first
	if first == nil {
		first = func(p *serverConn) error { return p.set(p.script.settings...) }
	}
	if err := first(p); err != nil {
		return err
	}
	for {
		if err := p.out.flush(); err != nil {
			return err
		}
		if p.script.idleTimeout > 0 {
			_ = p.conn.SetReadDeadline(time.Now().Add(p.script.idleTimeout))
		}
		frame, err := p.framer.ReadFrame()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.Join(p.framer.WriteGoAway(p.client.lastID, http2.ErrCodeNo, []byte("idle")), p.out.flush())
		}
		if err != nil {
			return p.client.unreadable(err)
		}
		if err := p.obey(frame); err != nil {
			_ = p.out.flush()
			return err
		}
	}
}

// obey handles one frame of the client.
func (p *serverConn) obey(frame http2.Frame) error {
	id := frame.Header().StreamID
	if err := p.client.first(frame); err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return p.settings(f)
	case *http2.PingFrame:
		return p.ping(f)
	case *http2.WindowUpdateFrame:
		if err := p.client.credited(f); err != nil {
			return err
		}
		return p.resume()
	case *http2.HeadersFrame:
		return p.fields(id, f.HeaderBlockFragment(), f.HeadersEnded(), f.StreamEnded())
	case *http2.ContinuationFrame:
		return p.fields(id, f.HeaderBlockFragment(), f.HeadersEnded(), false)
	case *http2.DataFrame:
		return p.data(f)
	case *http2.RSTStreamFrame:
		p.client.ended(id)
		delete(p.pending, id)
	}
	return nil
}

func (p *serverConn) settings(f *http2.SettingsFrame) error {
	if !f.IsAck() {
		if err := p.client.set(f); err != nil {
			return err
		}
		p.encoder.SetMaxDynamicTableSizeLimit(p.client.tableSize)
		if err := p.framer.WriteSettingsAck(); err != nil {
			return err
		}
		return p.resume()
	}
	if len(p.client.unacked) == 0 {
		if p.scenario.Valid {
			return violated("it acknowledged SETTINGS that it was not sent")
		}
		return nil // it accepted SETTINGS that it should have refused
	}
	n := p.client.acked()
	if p.script.acked == nil {
		return nil
	}
	return p.script.acked(p, n)
}

func (p *serverConn) ping(f *http2.PingFrame) error {
	if !f.IsAck() {
		if p.script.ping != nil {
			if answer, err := p.script.ping(p); err != nil || !answer {
				return err
			}
		}
		return p.framer.WritePing(true, f.Data)
	}
	if p.script.pong != nil {
		return p.script.pong(p)
	}
	return nil
}

func (p *serverConn) fields(id uint32, fragment []byte, whole, ends bool) error {
	if err := p.client.fragment(id, fragment, ends); err != nil || !whole {
		return err
	}
	ended, err := p.client.request(id)
	if err != nil {
		return err
	}
	if p.script.headers != nil {
		if err := p.script.headers(p, id); err != nil {
			return err
		}
	}
	if ended {
		return p.end(id)
	}
	return nil
}

func (p *serverConn) data(f *http2.DataFrame) error {
	id, used := f.StreamID, f.Length
	if err := p.client.sent(id, used, f.Data()); err != nil {
		return err
	}
	credit := p.script.data
	if credit == nil {
		credit = (*serverConn).credit
	}
	if used > 0 {
		if err := credit(p, id, used); err != nil {
			return err
		}
	}
	if f.StreamEnded() {
		return p.end(id)
	}
	return nil
}

// end is called once for each request, when all of it has arrived.
func (p *serverConn) end(id uint32) error {
	stream := p.client.streams[id]
	if stream == nil {
		return nil // it was answered early
	}
	if want := prefixed(0, p.scenario.Request()); !bytes.Equal(stream.body, want) {
		return violated("stream %d: the request has %d bytes, %d were expected, or they differ", id, len(stream.body), len(want))
	}
	p.answered++
	if p.script.answer != nil {
		return p.script.answer(p, id)
	}
	return p.ok(id)
}
