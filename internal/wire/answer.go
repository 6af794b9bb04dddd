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

// unpacker takes the one message out of a unary answer. What it returns is valid
// until its next use.
type unpacker struct {
	most    int
	gzip    *gzip.Reader
	inflate bytes.Buffer
}

func (u *unpacker) unary(s *h2.Stream) ([]byte, h2.Status) {
	status := statusOf(s)
	if status.Code != h2.OK {
		return nil, status
	}
	if why := u.hopeless(s.Body); why.Code != h2.OK {
		return nil, why
	}
	if len(s.Body) < prefix {
		return nil, h2.Status{Code: h2.Internal, Message: "the server answered OK without a message"}
	}
	if n := binary.BigEndian.Uint32(s.Body[1:]); int(n) > len(s.Body)-prefix {
		return nil, h2.Status{Code: h2.Internal, Message: fmt.Sprintf("the answer ends after %d of %d bytes", len(s.Body)-prefix, n)}
	}
	return u.message(s.Body, s.Head)
}

// message is what a whole message with its prefix says.
func (u *unpacker) message(framed []byte, head *h2.Head) ([]byte, h2.Status) {
	switch framed[0] {
	case 0:
		return framed[prefix:], h2.Status{}
	case 1:
		return u.inflated(framed[prefix:], head.Encoding)
	}
	return nil, h2.Status{Code: h2.Internal, Message: fmt.Sprintf("the answer's compressed flag is %d", framed[0])}
}

// hopeless says why what has come of a body will not become one message.
func (u *unpacker) hopeless(body []byte) h2.Status {
	if len(body) < prefix {
		return h2.Status{}
	}
	switch n := int(binary.BigEndian.Uint32(body[1:])); {
	case n > u.most:
		return h2.Status{Code: h2.ResourceExhausted, Message: fmt.Sprintf("the answer has %d bytes; %d are the most", n, u.most)}
	case n < len(body)-prefix:
		return h2.Status{Code: h2.Internal, Message: "more than one message answers a unary call"}
	}
	return h2.Status{}
}

// statusOf is the outcome of a stream, by the "Responses" of the specification.
func statusOf(s *h2.Stream) h2.Status {
	switch {
	case s.Failed.Code != h2.OK:
		return s.Failed
	case s.Head != nil && !isGRPC(s.Head.Type):
		status := h2.OfHTTP(s.Head.Status)
		if s.Head.Status == 200 {
			status.Code = h2.Unknown
		}
		status.Message += fmt.Sprintf(", with the content type %q: is this a gRPC server?", s.Head.Type)
		return status
	case s.Trailer != nil && s.Trailer.GRPCStatus > h2.Unauthenticated: // not to be taken for a status of HTTP
		return h2.Status{Code: h2.Unknown, Message: s.Trailer.Message}
	case s.Trailer != nil && s.Trailer.GRPCStatus >= 0:
		return h2.Status{Code: uint32(s.Trailer.GRPCStatus), Message: s.Trailer.Message}
	case s.Head != nil:
		return h2.OfHTTP(s.Head.Status)
	}
	return h2.OfHTTP(0)
}

// isGRPC says whether a content type is "application/grpc" [("+proto" / "+json" / {custom})].
func isGRPC(kind string) bool {
	rest, ok := strings.CutPrefix(kind, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func (u *unpacker) inflated(message []byte, encoding string) ([]byte, h2.Status) {
	if encoding != "gzip" {
		return nil, h2.Status{Code: h2.Unimplemented, Message: fmt.Sprintf("the answer is compressed by %q, which was not offered", encoding)}
	}
	if err := u.gunzip(message); err != nil {
		code := uint32(h2.Internal)
		if errors.Is(err, errTooLarge) {
			code = h2.ResourceExhausted
		}
		return nil, h2.Status{Code: code, Message: "decompress the answer: " + err.Error()}
	}
	return u.inflate.Bytes(), h2.Status{}
}

var errTooLarge = errors.New("it is larger than the limit")

func (u *unpacker) gunzip(message []byte) (err error) {
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
	u.inflate.Reset()
	n, err := u.inflate.ReadFrom(io.LimitReader(u.gzip, int64(u.most)+1))
	if err == nil && n > int64(u.most) {
		return errTooLarge
	}
	return err
}
