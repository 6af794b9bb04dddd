package h2

import (
	"testing"

	"golang.org/x/net/http2/hpack"
)

// Whatever a server sends, in whatever pieces: the client does not panic,
// ends no stream twice and writes no more than Out returns.
func FuzzFeed(f *testing.F) {
	p := newPeer(f, Limits{})
	for _, err := range p.answer(1, "body") {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(nil), uint8(3))
	f.Add(append([]byte(nil), p.output.Bytes()...), uint8(1))
	f.Add([]byte("\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07"), uint8(200)) // REFUSED_STREAM
	f.Add([]byte("\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"), uint8(9))
	f.Add([]byte("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00"), uint8(9)) // window 0
	f.Add([]byte("\x00\x00\x01\x01\x00\x00\x00\x00\x01\x88\x00\x00\x00\x09\x04\x00\x00\x00\x01"), uint8(4))
	f.Fuzz(func(t *testing.T, output []byte, piece uint8) {
		p, r := newPeer(t, Limits{Streams: 3}), request(t)
		const started = 5
		for range started {
			p.conn.Start(stream(r, "payload"))
		}
		for len(output) > 0 {
			n := min(int(piece)+1, len(output))
			if err := p.conn.Feed(output[:n]); err != nil {
				break
			}
			output = output[n:]
		}
		p.conn.Close(Status{Unavailable, "over"})
		seen := map[*Stream]bool{}
		for _, s := range append(p.done, p.returned...) {
			if seen[s] {
				t.Fatal("a stream ended twice")
			}
			seen[s] = true
		}
		if len(seen) != started || p.conn.Active() != 0 {
			t.Fatalf("%d of %d streams ended: %v", len(seen), started, p.conn)
		}
		if n := len(p.conn.Out()); n > 1<<20 {
			t.Fatalf("%d bytes of output", n)
		}
	})
}

// A header block from the cache never differs from the decoded block.
func FuzzHeaderBlocks(f *testing.F) {
	p := newPeer(f, Limits{})
	f.Add(p.encode(":status", "200", "backend", "a"), p.encode(":status", "200", "backend", "a"))
	f.Add([]byte{0x88}, []byte{0x3f, 0xe1, 0x1f, 0x88})
	f.Add([]byte{0x88, 0x20}, []byte{0x0f, 0x10, 0x01, 'x'})
	f.Add([]byte{0x88, 0x00, 0x07, 'b', 'a', 'c', 'k', 'e', 'n', 'd', 0x01, 'x'}, []byte{0xbe})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		memory := newHeaderDecoder("backend", 64<<10)
		plain := hpack.NewDecoder(4096, nil)
		for _, block := range [][]byte{a, b, a, a, b, b, a} {
			got, err := memory.decode(block)
			fields, want := plain.DecodeFull(block)
			if err != nil {
				return // it may refuse more, but the connection is over then
			}
			if want != nil {
				t.Fatalf("%x: decoded to %+v; it is wrong: %v", block, got, want)
			}
			backend := ""
			for _, f := range fields {
				if f.Name == "backend" {
					backend = f.Value
				}
			}
			if got.Backend != backend {
				t.Fatalf("%x: backend %q, want %q", block, got.Backend, backend)
			}
		}
	})
}
