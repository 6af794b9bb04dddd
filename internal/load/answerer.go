package load

import (
	"encoding/binary"
	"io"
	"net"
)

// answerer answers gRPC calls as fast as this machine can: it looks for the ends of
// requests (RFC 9113, section 4.1) and does not read what is in them.
type answerer struct {
	answer []byte // HEADERS, DATA and trailers of one call
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

// newAnswerer prepares an answer with a message of so many bytes.
func newAnswerer(reply int) *answerer {
	a := new(answerer)
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

// serve answers until the listener is closed.
func (a *answerer) serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go a.converse(connection)
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
