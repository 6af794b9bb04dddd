package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"rpclab/internal/wire/h2"
)

// request prepares the header block of every call.
func (c Call) request(scheme, authority string, limit time.Duration) (*h2.Request, error) {
	if !strings.HasPrefix(c.Method, "/") || strings.Count(c.Method, "/") != 2 {
		return nil, fmt.Errorf("wire: the method %q is not of the form /package.Service/Method", c.Method)
	}
	// The order follows "Requests" of the gRPC over HTTP/2 specification.
	fields := []h2.Field{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme}, {Name: ":path", Value: c.Method},
		{Name: ":authority", Value: authority}, {Name: "te", Value: "trailers"},
	}
	if limit > 0 {
		fields = append(fields, h2.Field{Name: "grpc-timeout", Value: timeout(limit)})
	}
	fields = append(fields, h2.Field{Name: "content-type", Value: "application/grpc"})
	if c.Gzip {
		fields = append(fields, h2.Field{Name: "grpc-encoding", Value: "gzip"})
	}
	fields = append(fields,
		h2.Field{Name: "grpc-accept-encoding", Value: "gzip"},
		h2.Field{Name: "user-agent", Value: strings.TrimSpace(c.UserAgent + " grpc-rpclab/1")})
	for _, f := range c.Metadata {
		if strings.HasPrefix(f.Name, "grpc-") || strings.HasPrefix(f.Name, ":") || f.Name != strings.ToLower(f.Name) {
			return nil, fmt.Errorf("wire: metadata cannot be named %q", f.Name)
		}
		fields = append(fields, f)
	}
	r, err := h2.NewRequest(fields)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return r, nil
}

// timeout returns the value of grpc-timeout: at most eight digits and a unit. It rounds up, so
// that the server's deadline is not before the client's.
func timeout(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Nanosecond, "n"}, {time.Microsecond, "u"}, {time.Millisecond, "m"}, {time.Second, "S"}, {time.Minute, "M"}} {
		if n := (d + u.unit - 1) / u.unit; n < 1e8 {
			return fmt.Sprintf("%d%s", n, u.name)
		}
	}
	return fmt.Sprintf("%dH", (d+time.Hour-1)/time.Hour)
}

const messagePrefix = 5 // bytes before a message: compressed flag and length

// frame puts the prefix before a message.
func frame(message []byte) []byte {
	return frameInPlace(append(make([]byte, messagePrefix, messagePrefix+len(message)), message...))
}

// frameInPlace sets the prefix of a message that has room for it.
func frameInPlace(p []byte) []byte {
	binary.BigEndian.PutUint32(p[1:messagePrefix], uint32(len(p)-messagePrefix))
	return p
}

// compressor compresses messages. Its memory is kept for the next one.
type compressor struct{ writer *gzip.Writer }

// frame appends a message to dst, compressed and with its prefix. As in grpc-go, an empty message is
// not compressed.
func (c *compressor) frame(dst, message []byte) ([]byte, error) {
	if len(message) == 0 {
		return append(dst, 0, 0, 0, 0, 0), nil
	}
	start := len(dst)
	compressed := bytes.NewBuffer(append(dst, 1, 0, 0, 0, 0))
	if c.writer == nil {
		c.writer = gzip.NewWriter(compressed)
	} else {
		c.writer.Reset(compressed)
	}
	_, err := c.writer.Write(message)
	if err = errors.Join(err, c.writer.Close()); err != nil {
		return dst, err
	}
	framed := compressed.Bytes()
	frameInPlace(framed[start:])
	return framed, nil
}
