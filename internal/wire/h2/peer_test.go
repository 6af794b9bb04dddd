package h2

import (
	"bytes"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a connection and the server at its other end, which sends what a test wants.
type peer struct {
	t        testing.TB
	conn     *Conn
	output   bytes.Buffer // of the server, not yet fed to the connection
	framer   *http2.Framer
	block    bytes.Buffer
	encoder  *hpack.Encoder
	ready    bool
	done     []*Stream
	admitted []*Stream
	returned []*Stream
}

func (p *peer) Ready()                       { p.ready = true }
func (p *peer) Data(*Stream)                 {}
func (p *peer) Done(s *Stream)               { p.done = append(p.done, s) }
func (p *peer) Admitted(s *Stream) bool      { p.admitted = append(p.admitted, s); return true }
func (p *peer) Returned(s *Stream, _ Status) { p.returned = append(p.returned, s) }

// newPeer returns a connection whose server has sent its settings.
func newPeer(t testing.TB, l Limits, settings ...http2.Setting) *peer {
	p := &peer{t: t}
	p.framer = http2.NewFramer(&p.output, nil)
	p.encoder = hpack.NewEncoder(&p.block)
	l.Backend = "backend"
	p.conn = New(p, l)
	p.feed(p.framer.WriteSettings(settings...))
	p.frames()
	return p
}

// feed feeds what the server has sent to the connection, which must accept it.
func (p *peer) feed(errs ...error) {
	p.t.Helper()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		p.t.Fatal(errs[i])
	}
	if err := p.conn.Feed(p.output.Next(p.output.Len())); err != nil {
		p.t.Fatal(err)
	}
}

// frames returns the frames that the client wrote since the last call.
func (p *peer) frames() []http2.Frame {
	p.t.Helper()
	out := bytes.TrimPrefix(bytes.Clone(p.conn.Out()), []byte(http2.ClientPreface))
	p.conn.Wrote(len(p.conn.Out()))
	framer := http2.NewFramer(nil, bytes.NewReader(out))
	framer.SetMaxReadFrameSize(1 << 24)
	var all []http2.Frame
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			if err.Error() != "EOF" {
				p.t.Fatalf("the client wrote an invalid frame: %v", err)
			}
			return all
		}
		switch f := f.(type) {
		case *http2.DataFrame: // its memory is used again for the next one
			c := *f
			all = append(all, &c)
		default:
			all = append(all, f)
		}
	}
}

func (p *peer) encode(lines ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(lines); i += 2 {
		if err := p.encoder.WriteField(hpack.HeaderField{Name: lines[i], Value: lines[i+1]}); err != nil {
			p.t.Fatal(err)
		}
	}
	return bytes.Clone(p.block.Bytes())
}

// answer writes a whole response to a stream.
func (p *peer) answer(id uint32, body string) []error {
	return []error{
		p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode(":status", "200"), EndHeaders: true}),
		p.framer.WriteData(id, false, []byte(body)),
		p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.encode("grpc-status", "0", "backend", "b1"), EndHeaders: true, EndStream: true}),
	}
}

func request(t testing.TB) *Request {
	t.Helper()
	r, err := NewRequest([]Field{{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {"te", "trailers"}, {"x-long", "v"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stream(r *Request, payload string) *Stream { return &Stream{Request: r, Payload: []byte(payload)} }
