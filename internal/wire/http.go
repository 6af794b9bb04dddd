package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"rpclab/internal/wire/h1"
	"rpclab/internal/wire/h2"
)

func (h *HTTP) check() error {
	switch {
	case h == nil:
	case h.Version != 1 && h.Version != 2:
		return fmt.Errorf("wire: HTTP/%d is not supported; use 1 or 2", h.Version)
	case h.Method == "" || strings.ContainsFunc(h.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return fmt.Errorf("wire: %q is no HTTP method", h.Method)
	case !strings.HasPrefix(h.Path, "/") || strings.ContainsFunc(h.Path, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("wire: the path %q does not begin with a slash or has characters to escape", h.Path)
	}
	return nil
}

// requestHTTP prepares the header block of an HTTP/2 request.
func (c Call) requestHTTP(scheme, authority string) (*h2.Request, error) {
	fields := []h2.Field{
		{Name: ":method", Value: c.HTTP.Method}, {Name: ":scheme", Value: scheme},
		{Name: ":path", Value: c.HTTP.Path}, {Name: ":authority", Value: authority},
	}
	r, err := h2.NewRequest(append(fields, c.Metadata...))
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return r, nil
}

// headHTTP returns the head of an HTTP/1.1 request, up to the value of Content-Length if the
// request has a body.
func (c Call) headHTTP(authority string) ([]byte, error) {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", c.HTTP.Method, c.HTTP.Path, authority)
	for _, f := range c.Metadata {
		if strings.ContainsAny(f.Name+f.Value, "\r\n") || f.Name == "" {
			return nil, fmt.Errorf("wire: the header field %q cannot be sent", f.Name)
		}
		fmt.Fprintf(&head, "%s: %s\r\n", f.Name, f.Value)
	}
	if c.HTTP.Method != http.MethodGet && c.HTTP.Method != http.MethodHead || len(c.Message) > 0 || c.AppendMessage != nil {
		head.WriteString("Content-Length: ")
	}
	return []byte(head.String()), nil
}

// appendHTTP appends a whole HTTP/1.1 request.
func appendHTTP(to, head, body []byte) []byte {
	to = append(to, head...)
	if head[len(head)-1] != '\n' {
		to = strconv.AppendInt(to, int64(len(body)), 10)
		to = append(to, '\r', '\n')
	}
	to = append(to, '\r', '\n')
	return append(to, body...)
}

// outcome returns the status of an HTTP request.
func (h *HTTP) outcome(stream *h2.Stream) h2.Status {
	switch {
	case stream.Failed.Code != h2.OK:
		return stream.Failed
	case stream.Headers == nil:
		return h2.OfHTTP(0)
	case h.isCut(stream):
		return h2.Status{Code: h2.Internal, Message: fmt.Sprintf("the response has %d bytes, and its content-length is %d", len(stream.Body), stream.Headers.Length)}
	case stream.Headers.Status < 400:
		return h2.Status{}
	case h.ErrorStatus != nil:
		return h.ErrorStatus(stream.Headers.Status, stream.Body)
	}
	return h2.Status{Code: uint32(stream.Headers.Status), Message: fmt.Sprintf("HTTP %d %s", stream.Headers.Status, http.StatusText(stream.Headers.Status))}
}

// isCut reports whether a response of HTTP/2 has another length than it announced (RFC 9113 section 8.1.1). HTTP/1.1
// needs the length to find the end.
func (h *HTTP) isCut(stream *h2.Stream) bool {
	head := stream.Headers
	return h.Version == 2 && head.Length >= 0 && h.hasBody(head.Status) && head.Length != int64(len(stream.Body))
}

// hasBody reports whether a response has a body (RFC 9110 section 6.4.1).
func (h *HTTP) hasBody(status int) bool {
	return h.Method != http.MethodHead && status != http.StatusNoContent && status != http.StatusResetContent && status != http.StatusNotModified
}

// newConn returns a connection of the protocol that the calls use.
func (c *core) newConn(conn *connection) protocol {
	if !c.call.isHTTP1() {
		return h2.New(conn, c.limits)
	}
	return h1.New(conn, h1.Limits{
		Head: c.cfg.MaxHeaderList, Body: c.cfg.MaxMessage, Backend: strings.ToLower(c.call.Backend), NoContent: c.call.HTTP.Method == http.MethodHead,
	})
}
