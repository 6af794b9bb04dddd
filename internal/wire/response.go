package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"rpclab/internal/wire/h2"
)

// messageDecoder extracts the message of a unary response. What it returns is valid until its next
// use.
type messageDecoder struct {
	limit   int
	gzip    *gzip.Reader
	inflate bytes.Buffer
}

func (u *messageDecoder) unary(stream *h2.Stream) ([]byte, h2.Status) {
	status := statusOf(stream)
	if status.Code != h2.OK {
		return nil, status
	}
	if why := u.invalid(stream.Body); why.Code != h2.OK {
		return nil, why
	}
	if len(stream.Body) < messagePrefix {
		return nil, h2.Status{Code: h2.Internal, Message: "the server sent OK without a message"}
	}
	if n := binary.BigEndian.Uint32(stream.Body[1:]); int(n) > len(stream.Body)-messagePrefix {
		return nil, h2.Status{Code: h2.Internal, Message: fmt.Sprintf("the response ends after %d of %d bytes", len(stream.Body)-messagePrefix, n)}
	}
	return u.message(stream.Body, stream.Headers)
}

const keepInflated = 8 << 20 // bytes of a buffer that is kept for the next response

// message returns a message without its prefix, decompressed.
func (u *messageDecoder) message(framed []byte, head *h2.Headers) ([]byte, h2.Status) {
	switch framed[0] {
	case 0:
		return framed[messagePrefix:], h2.Status{}
	case 1:
		return u.inflated(framed[messagePrefix:], head.Encoding)
	}
	return nil, h2.Status{Code: h2.Internal, Message: fmt.Sprintf("the response's compressed flag is %d", framed[0])}
}

// invalid returns why a body that is not yet complete cannot become one message.
func (u *messageDecoder) invalid(body []byte) h2.Status {
	if len(body) < messagePrefix {
		return h2.Status{}
	}
	switch n := int(binary.BigEndian.Uint32(body[1:])); {
	case n > u.limit:
		return h2.Status{Code: h2.ResourceExhausted, Message: fmt.Sprintf("the response has %d bytes; the limit is %d"+raiseMessage, n, u.limit)}
	case n < len(body)-messagePrefix:
		return h2.Status{Code: h2.Internal, Message: "the response to a unary call has more than one message"}
	}
	return h2.Status{}
}

// statusOf returns the status of a stream, by "Responses" of the gRPC over HTTP/2 specification.
func statusOf(stream *h2.Stream) h2.Status {
	switch {
	case stream.Failed.Code != h2.OK:
		return stream.Failed
	case stream.Headers != nil && !isGRPC(stream.Headers.Type):
		status := h2.OfHTTP(stream.Headers.Status)
		if stream.Headers.Status == 200 {
			status.Code = h2.Unknown
		}
		status.Message += fmt.Sprintf(", with the content type %q: is this a gRPC server?", stream.Headers.Type)
		return status
	case stream.Trailers != nil && stream.Trailers.GRPCStatus >= 0:
		return h2.OfGRPC(stream.Trailers.GRPCStatus, stream.Trailers.Message)
	case stream.Headers != nil:
		return h2.OfHTTP(stream.Headers.Status)
	}
	return h2.OfHTTP(0)
}

// isGRPC reports whether a content type is "application/grpc" [("+proto" / "+json" / {custom})].
func isGRPC(kind string) bool {
	rest, ok := strings.CutPrefix(kind, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func (u *messageDecoder) inflated(message []byte, encoding string) ([]byte, h2.Status) {
	if encoding != "gzip" {
		return nil, h2.Status{Code: h2.Unimplemented, Message: fmt.Sprintf("the response is compressed with %q, which the client did not offer", encoding)}
	}
	if err := u.gunzip(message); err != nil {
		code := uint32(h2.Internal)
		if errors.Is(err, errTooLarge) {
			code = h2.ResourceExhausted
		}
		return nil, h2.Status{Code: code, Message: "decompress the response: " + err.Error()}
	}
	return u.inflate.Bytes(), h2.Status{}
}

// raiseMessage is the remedy of a limit.
const raiseMessage = " (raise it with rpclab load --max-message)"

var errTooLarge = errors.New("it is larger than the limit" + raiseMessage)

func (u *messageDecoder) gunzip(message []byte) (err error) {
	source := bytes.NewReader(message)
	if u.gzip == nil {
		u.gzip, err = gzip.NewReader(source)
	} else {
		err = u.gzip.Reset(source)
	}
	if err != nil {
		u.gzip = nil
		return err
	}
	if u.inflate.Reset(); u.inflate.Cap() > keepInflated {
		u.inflate = bytes.Buffer{}
	}
	n, err := u.inflate.ReadFrom(io.LimitReader(u.gzip, int64(u.limit)+1))
	if err == nil && n > int64(u.limit) {
		return errTooLarge
	}
	return err
}
