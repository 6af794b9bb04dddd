package wire_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// answerer starts a server that sends a fixed response. It writes the responses to all requests of
// one read at once.
func answerer(t testing.TB) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener.Addr().String()
}

const clientPreface = 24

// The response: HEADERS :status 200 and content-type by literal, DATA of one message of
// 2 bytes, trailers grpc-status 0; stream ids are patched in.
var oneAnswer = func() []byte {
	head := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	tail := append([]byte{0x00, 11}, "grpc-status\x010"...)
	var all []byte
	for _, f := range []struct {
		kind, flags byte
		payload     []byte
	}{{1, 4, head}, {0, 0, []byte{0, 0, 0, 0, 2, 'o', 'k'}}, {1, 5, tail}} {
		all = append(all, 0, 0, byte(len(f.payload)), f.kind, f.flags, 0, 0, 0, 0)
		all = append(all, f.payload...)
	}
	return all
}()

func answer(conn net.Conn) {
	defer conn.Close()
	in, out := make([]byte, 0, 1<<16), []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	skip := clientPreface
	received := uint32(0)
	for {
		n, err := conn.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
		p := in
		if skip > 0 {
			p, skip = p[skip:], 0
		}
		for len(p) >= 9 {
			size := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
			if len(p) < 9+size {
				break
			}
			switch {
			case p[3] == 0 && p[4]&1 != 0: // DATA that ends a request
				at := len(out)
				out = append(out, oneAnswer...)
				for _, frame := range [...]int{0, 9 + 20, 9 + 20 + 9 + 7} {
					copy(out[at+frame+5:], p[5:9])
				}
				received += uint32(size)
			case p[3] == 4 && p[4]&1 == 0:
				out = append(out, 0, 0, 0, 4, 1, 0, 0, 0, 0)
			}
			p = p[9+size:]
		}
		in = in[:copy(in, p)]
		if received > 1<<14 {
			out = binary.BigEndian.AppendUint32(append(out, 0, 0, 4, 8, 0, 0, 0, 0, 0), received)
			received = 0
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

func BenchmarkUnary(b *testing.B) {
	for name, channels := range map[string]int{"1 connection": 1, "10 connections": 10} {
		b.Run(name, func(b *testing.B) {
			e := engine(b, wire.Config{Addresses: []string{answerer(b)}, Channels: channels, Sticky: true, Timeout: 30 * time.Second},
				wire.Call{Method: "/test.Test/Answer", Message: []byte("request")})
			if err := e.Connect(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			recorder, _, err := e.Run(b.Context(), pace.Closed{Users: 50, Calls: uint64(b.N)}, measure.StartSignal{})
			b.StopTimer()
			if err != nil {
				b.Fatal(err)
			}
			if m, err := recorder.Measurement(); err != nil || m.Backends[""] != uint64(b.N) {
				b.Fatalf("%d calls answered of %d: %v %v %v", m.Backends[""], b.N, m.Errors, m.Samples, err)
			}
		})
	}
}
