package wire

import (
	"encoding/binary"
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
	// The order is that of the gRPC over HTTP/2 specification, "Requests".
	fields := []h2.Field{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme}, {Name: ":path", Value: c.Method},
		{Name: ":authority", Value: authority}, {Name: "te", Value: "trailers"},
	}
	if limit > 0 {
		fields = append(fields, h2.Field{Name: "grpc-timeout", Value: timeout(limit)})
	}
	fields = append(fields,
		h2.Field{Name: "content-type", Value: "application/grpc"},
		h2.Field{Name: "grpc-accept-encoding", Value: "gzip"},
		h2.Field{Name: "user-agent", Value: "grpc-rpclab/1"})
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

// timeout is the value of grpc-timeout: at most eight digits and a unit, rounded up
// so that the server never gives up first.
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

const prefix = 5 // of a message: compressed flag and length

// frame puts the prefix before a message.
func frame(message []byte) []byte {
	return frameInPlace(append(make([]byte, prefix, prefix+len(message)), message...))
}

// frameInPlace fills in the prefix, for which there is room before the message.
func frameInPlace(p []byte) []byte {
	binary.BigEndian.PutUint32(p[1:prefix], uint32(len(p)-prefix))
	return p
}
