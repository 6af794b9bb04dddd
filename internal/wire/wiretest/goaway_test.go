package wiretest_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"rpclab/internal/wire/wiretest"
)

// A server answers each stream up to the last stream of its GOAWAY, in whatever order requests end.
func TestStreamsUpToTheLastOfAGoAwayAreAnswered(t *testing.T) {
	at := slices.IndexFunc(wiretest.Scenarios(), func(s wiretest.Scenario) bool { return s.Name == "go away, below open streams" })
	s := wiretest.Scenarios()[at]
	for name, order := range map[string][]uint32{"in order": {1, 3}, "in reverse": {3, 1}} {
		t.Run(name, func(t *testing.T) {
			framer := dialed(t, wiretest.Serve(t, s))
			for _, id := range []uint32{1, 3} {
				block := requestHeaders(t)
				if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}); err != nil {
					t.Fatal(err)
				}
			}
			finish := func(id uint32) {
				request := s.Request()
				message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
				if err := framer.WriteData(id, true, message); err != nil {
					t.Fatal(err)
				}
			}
			finish(order[0])
			var last uint32
			answered := map[uint32]bool{}
			for done := false; !done; {
				frame, err := framer.ReadFrame()
				if err != nil {
					t.Fatal(err)
				}
				switch f := frame.(type) {
				case *http2.PingFrame:
					if done = f.IsAck(); !done {
						err = framer.WritePing(true, f.Data)
					}
				case *http2.GoAwayFrame:
					last = f.LastStreamID
					finish(order[1])
					err = framer.WritePing(false, [8]byte{}) // its answer follows those to the requests
				case *http2.HeadersFrame:
					answered[f.StreamID] = answered[f.StreamID] || f.StreamEnded()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range order {
				if answered[id] != (id <= last) {
					t.Errorf("stream %d is answered: %t, but the last stream of GOAWAY is %d", id, answered[id], last)
				}
			}
		})
	}
}

// dialed opens an HTTP/2 connection.
func dialed(t *testing.T, addr string) *http2.Framer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return framer
}

// requestHeaders is a header block with no state of HPACK.
func requestHeaders(t *testing.T) []byte {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", wiretest.Method}, {":authority", "a"},
		{"te", "trailers"}, {"content-type", "application/grpc"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}); err != nil {
			t.Fatal(err)
		}
	}
	return block.Bytes()
}
