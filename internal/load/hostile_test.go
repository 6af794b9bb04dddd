package load

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/measure"
)

// A hostile server can fill this much memory, besides the messages of calls in flight if those are larger. Go lets garbage
// double a heap.
const mostMemory = 32e6

// hostile is a server that writes what it wants. A call of its function writes the response to a
// request on a stream.
type hostile struct {
	opening []byte // the first bytes
	respond func(conn net.Conn, stream uint32) error
	deaf    bool // responds once the first request has arrived, and reads nothing more
}

func (h hostile) serve(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { defer conn.Close(); h.connection(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	return listener.Addr().String()
}

func (h hostile) connection(conn net.Conn) {
	if _, err := conn.Write(append(frame(4, 0, 0, nil), h.opening...)); err != nil {
		return
	}
	if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	head, payload := make([]byte, 9), make([]byte, 1<<14)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, payload[:int(head[1])<<8|int(head[2])]); err != nil {
			return
		}
		if head[3] == 1 && h.respond(conn, binary.BigEndian.Uint32(head[5:])) != nil || h.deaf && head[3] == 1 {
			return
		}
	}
}

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	return append(binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream), payload...)
}

// write writes the parts until a write fails.
func write(conn net.Conn, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := conn.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// start is the header block of a gzip-compressed gRPC response.
var start = []byte("\x88\x0f\x10\x10application/grpc\x00\x0dgrpc-encoding\x04gzip")

// largest is the head of a frame of 16 KiB.
func largest(kind byte, stream uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0x40, 0, kind, 0}, stream)
}

var invalidName = bytes.Repeat([]byte{1}, 1<<14)

// longFieldNames writes a header block with three names of 4 MiB, the longest that are allowed.
func longFieldNames(conn net.Conn, id uint32) error {
	const name = 4<<20 - 32 // bytes, as an integer of RFC 7541
	if err := write(conn, frame(1, 0, id, start)); err != nil {
		return err
	}
	for range 3 {
		if err := write(conn, frame(9, 0, id, binary.AppendUvarint([]byte{0, 0x7f}, name-127))); err != nil {
			return err
		}
		for range name / len(invalidName) {
			if err := write(conn, largest(9, id), invalidName); err != nil {
				return err
			}
		}
		if err := write(conn, frame(9, 0, id, append(bytes.Repeat(invalidName[:1], name%len(invalidName)), 0))); err != nil {
			return err
		}
	}
	return write(conn, frame(9, 4, id, nil))
}

// One connection with four calls in flight, of up to 4 MiB each, stays under the bound whatever the server sends.
func TestAHostileServerTakesLittleMemory(t *testing.T) {
	var bomb bytes.Buffer
	bomb.Write(make([]byte, 5))
	zip := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = zip.Write(make([]byte, 1<<20-1)) // in memory
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	message := bomb.Bytes()
	message[0] = 1
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-5))
	const value = 15_990 // bytes, as an integer of RFC 7541, section 5.1: 127 + 0x77 + 0x7b<<7
	field := append([]byte("\x00\x01x\x7f\xf7\x7b"), bytes.Repeat([]byte("b"), value)...)
	data := make([]byte, 1<<14)
	claims := append([]byte{0}, binary.BigEndian.AppendUint32(nil, 4<<20)...)
	pings, settings := bytes.Repeat(frame(6, 0, 0, make([]byte, 8)), 1000), bytes.Repeat(frame(4, 0, 0, nil), 1000)
	for what, server := range map[string]hostile{
		"gzip bombs": {respond: func(conn net.Conn, id uint32) error {
			parts := [][]byte{frame(1, 4, id, start)}
			for rest := message; len(rest) > 0; rest = rest[min(len(rest), 1<<14):] {
				parts = append(parts, frame(0, 0, id, rest[:min(len(rest), 1<<14)]))
			}
			return write(conn, append(parts, frame(1, 5, id, []byte("\x00\x0bgrpc-status\x010")))...)
		}},
		"long header lists": {respond: func(conn net.Conn, id uint32) error {
			if err := write(conn, frame(1, 0, id, start)); err != nil {
				return err
			}
			for range 1000 { // 15 MiB
				if err := write(conn, frame(9, 0, id, field)); err != nil {
					return err
				}
			}
			return write(conn, frame(9, 4, id, nil), frame(1, 5, id, []byte("\x00\x0bgrpc-status\x010")))
		}},
		"long field names": {respond: longFieldNames},
		"a header list without an end": {respond: func(conn net.Conn, id uint32) error {
			for err := write(conn, frame(1, 0, id, start)); ; err = write(conn, frame(9, 0, id, field)) {
				if err != nil {
					return err
				}
			}
		}},
		"a header field without an end": {respond: func(conn net.Conn, id uint32) error {
			claim := append([]byte("\x00\x01x\x7f"), binary.AppendUvarint(nil, 16_000_000)...)
			for err := write(conn, frame(1, 0, id, start), frame(9, 0, id, claim)); ; err = write(conn, frame(9, 0, id, data)) {
				if err != nil {
					return err
				}
			}
		}},
		"messages of the largest size": {respond: func(conn net.Conn, id uint32) error {
			if err := write(conn, frame(1, 4, id, start), frame(0, 0, id, claims)); err != nil {
				return err
			}
			for range 4 << 20 / len(data) {
				if err := write(conn, largest(0, id), data); err != nil {
					return err
				}
			}
			return write(conn, frame(1, 5, id, []byte("\x00\x0bgrpc-status\x010")))
		}},
		"data without an end": {respond: func(conn net.Conn, id uint32) error {
			for err := write(conn, frame(1, 4, id, start), frame(0, 0, id, []byte{0, 3, 0xff, 0xff, 0xff})); ; err = write(conn, largest(0, id), data) {
				if err != nil {
					return err
				}
			}
		}},
		"frames of 16 MB": {respond: func(conn net.Conn, _ uint32) error {
			return write(conn, []byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}, bytes.Repeat(data, 4))
		}},
		"PINGs without an end": {deaf: true, respond: func(conn net.Conn, _ uint32) error {
			for range 20_000 {
				if err := write(conn, pings); err != nil {
					return err
				}
			}
			return nil
		}},
		"SETTINGS without an end": {deaf: true, respond: func(conn net.Conn, _ uint32) error {
			for range 20_000 {
				if err := write(conn, settings); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := validSettings()
			s.Target, s.Proto, s.Concurrency, s.Calls, s.Timeout = server.serve(t), "../../api/rpclab/v1/greeter.proto", 4, 12, time.Second
			load, err := Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer load.Close()
			most := heapDuring(func() {
				recorder, _, err := load.client.Run(t.Context(), load.pace, measure.StartSignal{})
				if err != nil {
					t.Error(err)
					return
				}
				if m, err := recorder.Measurement(); err != nil || m.Calls != 12 {
					t.Errorf("%d calls ended, want 12: %v", m.Calls, err)
				} else if len(m.Samples) > 0 {
					t.Logf("%.300s", strings.ReplaceAll(m.Samples[oneOf(m.Errors)], "\n", " "))
				}
			})
			t.Logf("%.1f MB of heap", float64(most)/1e6)
			if most > withGarbage(mostMemory) {
				t.Errorf("the connection took %.0f MB of heap, want at most %.0f", float64(most)/1e6, mostMemory/1e6)
			}
		})
	}
}

// A server that has stopped reading gets the header blocks of calls that have run out of time all the same.
func TestAServerThatReadsNothingTakesLittleMemory(t *testing.T) {
	ended := make(chan struct{})
	server := hostile{respond: func(net.Conn, uint32) error { <-ended; return io.EOF }}
	s := validSettings()
	s.Target, s.Proto = server.serve(t), "../../api/rpclab/v1/greeter.proto"
	t.Cleanup(func() { close(ended) })
	s.Concurrency, s.Calls, s.Timeout, s.Metadata = 200, 10_000, 10*time.Millisecond, []string{"x-large: " + strings.Repeat("x", 15_000)}
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	var measured measure.Measurement
	most := heapDuring(func() {
		recorder, _, err := load.client.Run(t.Context(), load.pace, measure.StartSignal{})
		if err == nil {
			measured, err = recorder.Measurement()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if most > withGarbage(mostMemory) {
		t.Errorf("the connection took %.0f MB of heap, want at most %.0f", float64(most)/1e6, mostMemory/1e6)
	}
	if got := measured.Samples["UNAVAILABLE"]; !strings.Contains(got, "the server has read nothing for ") {
		t.Errorf("%v, UNAVAILABLE for %q; want that the server reads nothing", measured.Errors, got)
	}
	t.Logf("%.1f MB of heap, %v", float64(most)/1e6, measured.Errors)
}

func oneOf(codes map[string]uint64) string {
	for code := range codes {
		return code
	}
	return ""
}

// withGarbage adds the share of garbage that heapDuring allows.
func withGarbage(bytes float64) uint64 { return uint64(1.1 * bytes) }

// heapDuring returns by how much the heap grew at most. How much garbage it holds depends on when the collector runs, so
// the collector runs whenever a tenth of the heap may be garbage.
func heapDuring(do func()) (most uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := heap()
	done := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, max(heap(), before)-before)
			case <-done:
				return
			}
		}
	})
	do()
	close(done)
	sampling.Wait()
	return most
}

// Messages that are not complete and a long header field are in memory at the same time.
func TestMemoryGrowsWithTheCallsInFlight(t *testing.T) {
	const inFlight, message = 96, 1 << 20 // bytes
	data := make([]byte, 1<<14)
	claims := append([]byte{0}, binary.BigEndian.AppendUint32(nil, message)...)
	var streams []uint32
	server := hostile{respond: func(conn net.Conn, id uint32) error {
		if streams = append(streams, id); len(streams) < inFlight {
			return nil
		}
		for _, id := range streams {
			if err := write(conn, frame(1, 4, id, start), frame(0, 0, id, claims)); err != nil {
				return err
			}
			for range message/len(data) - 1 {
				if err := write(conn, largest(0, id), data); err != nil {
					return err
				}
			}
			if err := write(conn, frame(0, 0, id, data[1:])); err != nil { // a byte is missing
				return err
			}
		}
		return errors.Join(longFieldNames(conn, streams[0]), io.EOF)
	}}
	s := validSettings()
	s.Target, s.Proto, s.Concurrency, s.Calls, s.MaxMessage = server.serve(t), "../../api/rpclab/v1/greeter.proto", inFlight, inFlight, message
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	most := heapDuring(func() {
		if _, _, err := load.client.Run(t.Context(), load.pace, measure.StartSignal{}); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.1f MB of heap", float64(most)/1e6)
	if low, high := uint64(inFlight*message), withGarbage(inFlight*message+mostMemory); most < low || most > high {
		t.Errorf("%d calls took %.0f MB of heap, want their messages, %.0f MB, and at most %.0f MB", inFlight, float64(most)/1e6, float64(low)/1e6, float64(high)/1e6)
	}
}
