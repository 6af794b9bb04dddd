package wire_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// refusing starts a server that refuses some of its requests, by their number from 1 on, and answers the others. received
// is how many requests it has received.
func refusing(t *testing.T, refuses func(n int64) bool) (address string, received *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	received = &atomic.Int64{}
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		framer := http2.NewFramer(conn, conn)
		_, err = io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
		if err == nil {
			err = framer.WriteSettings()
		}
		for err == nil {
			var f http2.Frame
			f, err = framer.ReadFrame()
			headers, ok := f.(*http2.HeadersFrame)
			switch {
			case !ok:
			case refuses(received.Add(1)):
				err = framer.WriteRSTStream(headers.StreamID, http2.ErrCodeRefusedStream)
			default:
				const ok = 0x88 // :status 200 in the static table of HPACK
				err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: headers.StreamID, BlockFragment: []byte{ok}, EndStream: true, EndHeaders: true})
			}
		}
	}()
	return listener.Addr().String(), received
}

// A server that refuses requests gets each of them twice at most, as from grpc-go, and the measurement says how many.
func TestARefusedRequestIsSentAgainOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses                  func(n int64) bool
		failed, resent, received uint64
	}{
		"every second":    {func(n int64) bool { return n%2 == 1 }, 0, 20, 40},
		"three of four":   {func(n int64) bool { return n%4 != 0 }, 10, 20, 40},
		"all":             {func(int64) bool { return true }, 20, 20, 40},
		"none":            {func(int64) bool { return false }, 0, 0, 20},
		"the first alone": {func(n int64) bool { return n == 1 }, 0, 1, 21},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, received := refusing(t, c.refuses)
			call := wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 2}}
			e := engine(t, wire.Config{Addresses: []string{address}, Timeout: time.Minute}, call)
			m := load(t, e, pace.Sequence(20))
			if m.Calls != 20 || m.Errors["UNAVAILABLE"] != c.failed || m.Resent != c.resent || uint64(received.Load()) != c.received {
				t.Errorf("%d calls, errors %v, %d sent again, and the server received %d; want 20, %d, %d and %d",
					m.Calls, m.Errors, m.Resent, received.Load(), c.failed, c.resent, c.received)
			}
		})
	}
}
