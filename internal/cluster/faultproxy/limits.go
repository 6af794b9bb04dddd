package faultproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// maxHeaderList is the most bytes of a header list (RFC 9113, section 6.5.2), as callers accept by default.
	maxHeaderList = 16 << 20
	// maxHead is the most bytes of the head of an HTTP/1.1 message, as http.Transport accepts by default.
	maxHead = 10 << 20
	// maxHeld is the most bytes of the delayed responses of a connection. gRPC's flow control lets a server send 16 MiB.
	maxHeld = 64 << 20
	// maxFrame is the most bytes of a frame until an end announces more. Every peer accepts so many.
	maxFrame = 16384
)

// tooLargeError is what an end sent that a proxy does not store. It ends the connection with a reset.
type tooLargeError struct {
	what string
	most int
}

func (e tooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.what, e.most)
}

// logTooLarge records why the proxy resets a connection.
func logTooLarge(end string, err error) {
	if errors.As(err, new(tooLargeError)) {
		slog.Error("the fault proxy resets a connection: "+end+" sent too much", "error", err)
	}
}

// frameLimit is the largest frame that an end may send.
type frameLimit struct{ announced atomic.Uint32 }

func (l *frameLimit) most() uint32 { return max(l.announced.Load(), maxFrame) }

// raise reads the payload of SETTINGS of the other end. An end may send larger frames until it knows of a smaller size, so the limit
// is the largest size announced.
func (l *frameLimit) raise(settings []byte) {
	const size = 6
	for rest := settings; len(rest) >= size; rest = rest[size:] {
		if http2.SettingID(binary.BigEndian.Uint16(rest)) == http2.SettingMaxFrameSize {
			l.announced.Store(max(l.announced.Load(), binary.BigEndian.Uint32(rest[2:])))
		}
	}
}

// decode decodes a header block.
func decode(decoder *hpack.Decoder, block []byte) (fields []hpack.HeaderField, err error) {
	size := 0
	decoder.SetEmitEnabled(true)
	decoder.SetEmitFunc(func(field hpack.HeaderField) {
		if size += int(field.Size()); size > maxHeaderList {
			decoder.SetEmitEnabled(false)
			return
		}
		fields = append(fields, field)
	})
	_, err = decoder.Write(block)
	if err := errors.Join(err, decoder.Close()); err != nil {
		return nil, err
	}
	if size > maxHeaderList {
		return nil, tooLargeError{"a header list", maxHeaderList}
	}
	return fields, nil
}

// headLimit limits what is read while limited is true, which is while a head is read.
type headLimit struct {
	io.Reader
	limited bool
	rest    int
}

func (l *headLimit) Read(p []byte) (int, error) {
	if !l.limited {
		return l.Reader.Read(p)
	}
	if l.rest <= 0 {
		return 0, tooLargeError{"the head of an HTTP/1.1 message", maxHead}
	}
	n, err := l.Reader.Read(p)
	l.rest -= n
	return n, err
}

// begin begins to limit what is read.
func (l *headLimit) begin() { l.limited, l.rest = true, maxHead }

// end ends the limit of begin.
func (l *headLimit) end() { l.limited = false }
