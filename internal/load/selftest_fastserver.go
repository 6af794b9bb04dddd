package load

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
)

// fastServer answers HTTP/2 calls with little CPU time. It reads the headers of frames to find the ends of
// requests (RFC 9113, section 4.1), and ignores everything else.
type fastServer struct {
	response  []byte // all frames of a response
	streamIDs []int  // offsets of stream ids in response
}

// HTTP/2 frames (RFC 9113, section 6).
const (
	frameHeaderBytes   = 9 // before each payload
	clientPrefaceBytes = 24
	frameData          = 0
	frameHeaders       = 1
	frameSettings      = 4
	framePing          = 6
	frameWindowUpdate  = 8
	flagEndStream      = 1 // END_STREAM or ACK
	flagEndHeaders     = 4 // END_HEADERS
	// maxFastServerMessage is the largest message that the fast server supports: it fits into one frame
	// and into the initial flow-control window of a stream.
	maxFastServerMessage = 8 << 10
)

// newFastServer returns a server of gRPC responses with a message size, or of plain responses.
func newFastServer(reply int, plain bool) *fastServer {
	server := new(fastServer)
	if plain {
		server.addFrame(frameHeaders, flagEndHeaders, []byte{0x88})
		server.addFrame(frameData, flagEndStream, make([]byte, reply))
		return server
	}
	// Literal fields without indexing (RFC 7541, section 6.2.2); index 8 is :status 200.
	server.addFrame(frameHeaders, flagEndHeaders, append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...))
	server.addFrame(frameData, 0, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(reply)), make([]byte, reply)...))
	server.addFrame(frameHeaders, flagEndHeaders|flagEndStream, append([]byte{0x00, 11}, "grpc-status\x010"...))
	return server
}

func (a *fastServer) addFrame(kind, flags byte, payload []byte) {
	a.streamIDs = append(a.streamIDs, len(a.response)+5)
	a.response = append(appendFrame(a.response, kind, flags, 0, len(payload)), payload...)
}

func appendFrame(to []byte, kind, flags byte, stream uint32, size int) []byte {
	to = append(to, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	return binary.BigEndian.AppendUint32(to, stream)
}

// serveFast answers a probe's calls until the listener is closed.
func serveFast(listener net.Listener, p Probe) {
	serve := newFastServer(p.Reply, p.HTTP > 0).serve
	if p.HTTP == 1 {
		serve = serveHTTP1(p.Reply)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(connection)
	}
}

// serveHTTP1 returns a function that answers HTTP/1.1 requests. The header section of a request ends
// with an empty line and contains the body's length (RFC 9112, section 6).
func serveHTTP1(reply int) func(net.Conn) {
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

// serve answers all requests of one read with one write.
func (a *fastServer) serve(connection net.Conn) {
	defer connection.Close()
	hello := make([]byte, clientPrefaceBytes)
	if _, err := io.ReadFull(connection, hello); err != nil {
		return
	}
	in, out := make([]byte, 0, 64<<10), appendFrame(nil, frameSettings, 0, 0, 0)
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
		for len(rest) >= frameHeaderBytes {
			size := int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2])
			if len(rest) < frameHeaderBytes+size {
				break
			}
			out = a.appendResponse(out, rest[:frameHeaderBytes+size])
			if rest[3] == frameData {
				data += size
			}
			rest = rest[frameHeaderBytes+size:]
		}
		if data > 0 { // reopens the connection's flow-control window
			out = binary.BigEndian.AppendUint32(appendFrame(out, frameWindowUpdate, 0, 0, 4), uint32(data))
		}
		in = in[:copy(in, rest)]
	}
}

// appendResponse appends the response to a frame.
func (a *fastServer) appendResponse(out, frame []byte) []byte {
	switch kind, end := frame[3], frame[4]&flagEndStream != 0; {
	case kind == frameSettings && !end:
		return appendFrame(out, frameSettings, flagEndStream, 0, 0)
	case kind == framePing && !end:
		return append(appendFrame(out, framePing, flagEndStream, 0, 8), frame[frameHeaderBytes:]...)
	case (kind == frameData || kind == frameHeaders) && end:
		at := len(out)
		out = append(out, a.response...)
		for _, id := range a.streamIDs {
			copy(out[at+id:], frame[5:frameHeaderBytes])
		}
	}
	return out
}
