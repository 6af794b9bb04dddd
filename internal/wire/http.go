package wire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/wire/h1"
	"rpclab/internal/wire/h2"
)

// HTTP makes a [Call] an HTTP request instead of a gRPC call: Message is its body and Metadata its
// header fields. A response with a status below 400 is right. Redirects are not followed.
type HTTP struct {
	Method  string // GET, POST, …
	Path    string // with the query
	Version int    // 1: HTTP/1.1 with connections kept alive; 2: HTTP/2
	// ErrorStatus converts a response with a status of 400 or more; nil: the HTTP status itself.
	ErrorStatus func(status int, body []byte) h2.Status
}

// protocol is the protocol of a connection: [h2.Conn] or [h1.Conn].
type protocol interface {
	Feed(p []byte) error
	Out() []byte
	Wrote(n int)
	Start(s *h2.Stream)
	Cancel(s *h2.Stream)
	Abort(s *h2.Stream, why h2.Status)
	Close(why h2.Status)
	Usable() bool
	Active() int
	GoAway() string
}

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

func (c Call) isHTTP1() bool { return c.HTTP != nil && c.HTTP.Version == 1 }

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
func (h *HTTP) outcome(s *h2.Stream) h2.Status {
	switch {
	case s.Failed.Code != h2.OK:
		return s.Failed
	case s.Headers == nil:
		return h2.OfHTTP(0)
	case s.Headers.Status < 400:
		return h2.Status{}
	case h.ErrorStatus != nil:
		return h.ErrorStatus(s.Headers.Status, s.Body)
	}
	return h2.Status{Code: uint32(s.Headers.Status), Message: fmt.Sprintf("HTTP %d %s", s.Headers.Status, http.StatusText(s.Headers.Status))}
}

// newConn returns a connection of the protocol that the calls use.
func (c *core) newConn(l *connection) protocol {
	if !c.call.isHTTP1() {
		return h2.New(l, c.limits)
	}
	return h1.New(l, h1.Limits{
		Body: c.cfg.MaxMessage, Backend: strings.ToLower(c.call.Backend), NoContent: c.call.HTTP.Method == http.MethodHead,
	})
}

// prepare prepares what all calls share.
func (c *core) prepare() (err error) {
	authority, scheme := c.call.Authority, "http"
	if authority == "" && len(c.cfg.Addresses) > 0 {
		authority = c.cfg.Addresses[0]
	}
	if c.cfg.TLS != nil {
		scheme = "https"
	}
	switch {
	case c.cfg.Timeout > 1000*time.Hour:
		return errors.New("wire: the timeout is longer than 1000 hours")
	case c.call.isHTTP1():
		if c.requestHead, err = c.call.headHTTP(authority); err == nil {
			c.payload = appendHTTP(nil, c.requestHead, c.call.Message)
		}
	case c.call.HTTP != nil:
		c.request, err = c.call.requestHTTP(scheme, authority)
		c.payload = c.call.Message
	default:
		c.request, err = c.call.request(scheme, authority, c.cfg.Timeout)
		c.payload = frame(c.call.Message)
		if c.call.Session != nil {
			c.session = newSession(c, c.call.Session, func(method string, limit time.Duration, more []h2.Field) (*h2.Request, error) {
				call := c.call
				call.Method, call.Metadata = method, slices.Concat(call.Metadata, more)
				return call.request(scheme, authority, limit)
			})
		}
	}
	return err
}
