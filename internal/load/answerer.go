package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
)

// answerer answers calls over HTTP/2 as fast as this machine can: it looks for the ends
// of requests (RFC 9113, section 4.1) and does not read what is in them.
type answerer struct {
	answer []byte // all frames of one call's
	ids    []int  // where in it stream ids belong
}

// HTTP/2 frames (RFC 9113, section 6) as far as they matter here.
const (
	frameHead    = 9 // bytes before each payload
	clientHello  = 24
	frameData    = 0
	frameHeaders = 1
	frameConfig  = 4
	framePing    = 6
	frameWindow  = 8
	flagEnd      = 1 // END_STREAM, or ACK
	flagWhole    = 4 // END_HEADERS
	// mostAnswered is the largest message, either way, that it can do without minding
	// the windows of single streams and the size of frames.
	mostAnswered = 8 << 10
)

// newAnswerer prepares a gRPC answer with a message of so many bytes, or a plain one.
func newAnswerer(reply int, plain bool) *answerer {
	a := new(answerer)
	if plain {
		a.add(frameHeaders, flagWhole, []byte{0x88})
		a.add(frameData, flagEnd, make([]byte, reply))
		return a
	}
	// Literal fields that need no table: RFC 7541, section 6.2.2, and index 8, :status 200.
	a.add(frameHeaders, flagWhole, append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...))
	a.add(frameData, 0, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(reply)), make([]byte, reply)...))
	a.add(frameHeaders, flagWhole|flagEnd, append([]byte{0x00, 11}, "grpc-status\x010"...))
	return a
}

func (a *answerer) add(kind, flags byte, payload []byte) {
	a.ids = append(a.ids, len(a.answer)+5)
	a.answer = append(appendFrame(a.answer, kind, flags, 0, len(payload)), payload...)
}

func appendFrame(to []byte, kind, flags byte, stream uint32, size int) []byte {
	to = append(to, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	return binary.BigEndian.AppendUint32(to, stream)
}

// serveFast answers what a probe asks until the listener is closed.
func serveFast(listener net.Listener, p Probe) {
	converse := newAnswerer(p.Reply, p.HTTP > 0).converse
	if p.HTTP == 1 {
		converse = plainly(p.Reply)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go converse(connection)
	}
}

// plainly answers requests over HTTP/1.1, likewise: a head ends with an empty line, and
// says how long the body is (RFC 9112, section 6).
func plainly(reply int) func(net.Conn) {
	answer := append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", reply), make([]byte, reply)...)
	return func(connection net.Conn) {
		defer connection.Close()
		in := make([]byte, 0, 64<<10)
		for {
			n, err := connection.Read(in[len(in):cap(in)])
			if err != nil {
				return
			}
			in = in[:len(in)+n]
			head, body, whole := bytes.Cut(in, []byte("\r\n\r\n"))
			_, size, _ := bytes.Cut(head, []byte("Content-Length: "))
			if length, _ := strconv.Atoi(string(size)); !whole || len(body) < length {
				continue
			}
			in = in[:0]
			if _, err := connection.Write(answer); err != nil {
				return
			}
		}
	}
}

// converse answers all that one read brought with one write.
func (a *answerer) converse(connection net.Conn) {
	defer connection.Close()
	hello := make([]byte, clientHello)
	if _, err := io.ReadFull(connection, hello); err != nil {
		return
	}
	in, out := make([]byte, 0, 64<<10), appendFrame(nil, frameConfig, 0, 0, 0)
	for {
		if _, err := connection.Write(out); err != nil {
			return
		}
		n, err := connection.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
		rest := in
		out = out[:0]
		data := 0
		for len(rest) >= frameHead {
			size := int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2])
			if len(rest) < frameHead+size {
				break
			}
			out = a.react(out, rest[:frameHead+size])
			if rest[3] == frameData {
				data += size
			}
			rest = rest[frameHead+size:]
		}
		if data > 0 { // the window of the connection is opened again
			out = binary.BigEndian.AppendUint32(appendFrame(out, frameWindow, 0, 0, 4), uint32(data))
		}
		in = in[:copy(in, rest)]
	}
}

// react appends what a frame asks for.
func (a *answerer) react(out, frame []byte) []byte {
	switch kind, end := frame[3], frame[4]&flagEnd != 0; {
	case kind == frameConfig && !end:
		return appendFrame(out, frameConfig, flagEnd, 0, 0)
	case kind == framePing && !end:
		return append(appendFrame(out, framePing, flagEnd, 0, 8), frame[frameHead:]...)
	case (kind == frameData || kind == frameHeaders) && end:
		at := len(out)
		out = append(out, a.answer...)
		for _, id := range a.ids {
			copy(out[at+id:], frame[5:frameHead])
		}
	}
	return out
}
