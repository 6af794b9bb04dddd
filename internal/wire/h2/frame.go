// Package h2 is the client side of one HTTP/2 connection (RFC 9113) as a state machine: bytes in,
// bytes out, and a call of the handler for every stream that ends. It has no socket and no clock,
// so that it can be tested byte by byte.
package h2

import (
	"encoding/binary"
	"fmt"
)

// Frame types, RFC 9113 section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePush         = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9
)

// Settings, RFC 9113 section 6.5.2.
const (
	settingTable      = 0x1
	settingPush       = 0x2
	settingStreams    = 0x3
	settingWindow     = 0x4
	settingFrame      = 0x5
	settingHeaderList = 0x6
)

// Flags of frames; ACK and END_STREAM share a bit.
const (
	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// ErrorCode is an error code of HTTP/2, RFC 9113 section 7.
type ErrorCode uint32

// The codes that this side sends or handles.
const (
	NoError          ErrorCode = 0x0
	ProtocolError    ErrorCode = 0x1
	FlowControlError ErrorCode = 0x3
	StreamClosed     ErrorCode = 0x5
	FrameSizeError   ErrorCode = 0x6
	RefusedStream    ErrorCode = 0x7
	Cancel           ErrorCode = 0x8
	CompressionError ErrorCode = 0x9
	EnhanceYourCalm  ErrorCode = 0xb
)

var errorNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String is the code's name in the RFC.
func (c ErrorCode) String() string {
	if int(c) < len(errorNames) {
		return errorNames[c]
	}
	return fmt.Sprintf("error code %#x", uint32(c))
}

// Violation is an error of the peer against the protocol. It ends the connection.
type Violation struct {
	Code ErrorCode
	Text string
}

// Error returns the error code and what was received.
func (v *Violation) Error() string { return fmt.Sprintf("HTTP/2 %s: %s", v.Code, v.Text) }

func violation(code ErrorCode, format string, args ...any) error {
	return &Violation{code, fmt.Sprintf(format, args...)}
}

const (
	frameHeader = 9
	// preface is what a client sends first, RFC 9113 section 3.4.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// maxFrame is the largest frame payload that this side accepts: the initial value of the
	// protocol.
	maxFrame = 16384
	// initialWindow is the window of streams and connections without other settings.
	initialWindow = 65535
	maxWindow     = 1<<31 - 1
	maxStreamID   = 1<<31 - 1
)

type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// appendFrame appends a frame header; the payload of n bytes has to follow.
func appendFrame(to []byte, n int, kind, flags byte, stream uint32) []byte {
	return append(to, byte(n>>16), byte(n>>8), byte(n), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

func appendUint32(to []byte, kind byte, stream, value uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(to, 4, kind, 0, stream), value)
}

func putStreamID(header []byte, stream uint32) { binary.BigEndian.PutUint32(header[5:9], stream) }

// unpad removes the padding of a frame, RFC 9113 section 6.1.
func (f frame) unpad() ([]byte, error) {
	if !f.has(flagPadded) {
		return f.payload, nil
	}
	if len(f.payload) == 0 {
		return nil, violation(FrameSizeError, "a padded frame without a padding length on stream %d", f.stream)
	}
	padding := int(f.payload[0])
	if padding >= len(f.payload) {
		return nil, violation(ProtocolError, "%d bytes of padding in a frame of %d, on stream %d", padding, len(f.payload), f.stream)
	}
	return f.payload[1 : len(f.payload)-padding], nil
}
