package main

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test feeds two calls and a PING in pieces of every size. The answers must be complete and
// equal once the header table is applied.
func TestRequestsInPiecesAreAnsweredInOrder(t *testing.T) {
	var in bytes.Buffer
	in.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&in, nil)
	for _, err := range []error{
		framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x83}, EndHeaders: true}),
		framer.WriteData(1, true, []byte("request")),
		framer.WritePing(false, [8]byte{7}),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x83}, EndHeaders: true, EndStream: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	answers := newAnswers([]byte("hello"))
	for size := 1; size <= in.Len(); size++ {
		c := connection{answers: &answers}
		for b := in.Bytes(); len(b) > 0; b = b[min(size, len(b)):] {
			if err := c.feed(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		check(t, c.out)
	}
}

func check(t *testing.T, out []byte) {
	t.Helper()
	framer := http2.NewFramer(nil, bytes.NewReader(out))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	answered := map[uint32]string{}
	pinged := false
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			break // end of the output
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				answered[f.StreamID] += field.Name + "=" + field.Value + " "
			}
		case *http2.DataFrame:
			answered[f.StreamID] += string(f.Data()) + " "
		case *http2.PingFrame:
			pinged = f.IsAck() && f.Data[0] == 7
		}
	}
	const want = ":status=200 content-type=application/grpc \x00\x00\x00\x00\x05hello grpc-status=0 "
	if answered[1] != want || answered[3] != want || !pinged {
		t.Errorf("the answers are %q and %q, ping acknowledged: %v; want %q twice and true", answered[1], answered[3], pinged, want)
	}
}
