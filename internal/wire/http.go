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

// HTTP makes a [Call] a plain request instead of one by gRPC: Message is its body,
// Metadata its header fields, and an answer is right when its status is below 400: one
// that points elsewhere is an answer too, and not followed.
type HTTP struct {
	Method  string // GET, POST, …
	Path    string // with the query
	Version int    // 1: HTTP/1.1 with connections kept alive; 2: HTTP/2
	// Refused is the outcome of an answer with a status of 400 and over; nil: that status.
	Refused func(status int, body []byte) h2.Status
}

// protocol is what a connection speaks: [h2.Conn] or [h1.Conn].
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
		return fmt.Errorf("wire: HTTP/%d is not known here; 1 and 2 are", h.Version)
	case h.Method == "" || strings.ContainsFunc(h.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return fmt.Errorf("wire: %q is no HTTP method", h.Method)
	case !strings.HasPrefix(h.Path, "/") || strings.ContainsFunc(h.Path, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("wire: the path %q does not begin with a slash or has characters to escape", h.Path)
	}
	return nil
}

func (c Call) old() bool { return c.HTTP != nil && c.HTTP.Version == 1 }

// requestHTTP prepares the header block of a plain request over HTTP/2.
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

// headHTTP is the head of a request over HTTP/1.1, up to the value of Content-Length
// if it has a body.
func (c Call) headHTTP(authority string) ([]byte, error) {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", c.HTTP.Method, c.HTTP.Path, authority)
	for _, f := range c.Metadata {
		if strings.ContainsAny(f.Name+f.Value, "\r\n") || f.Name == "" {
			return nil, fmt.Errorf("wire: the header field %q cannot be sent", f.Name)
		}
		fmt.Fprintf(&head, "%s: %s\r\n", f.Name, f.Value)
	}
	if c.HTTP.Method != http.MethodGet && c.HTTP.Method != http.MethodHead || len(c.Message) > 0 || c.Make != nil {
		head.WriteString("Content-Length: ")
	}
	return []byte(head.String()), nil
}

// appendHTTP is a whole request over HTTP/1.1.
func appendHTTP(to, head, body []byte) []byte {
	to = append(to, head...)
	if head[len(head)-1] != '\n' {
		to = strconv.AppendInt(to, int64(len(body)), 10)
		to = append(to, '\r', '\n')
	}
	to = append(to, '\r', '\n')
	return append(to, body...)
}

// outcome is that of a plain request.
func (h *HTTP) outcome(s *h2.Stream) h2.Status {
	switch {
	case s.Failed.Code != h2.OK:
		return s.Failed
	case s.Head == nil:
		return h2.OfHTTP(0)
	case s.Head.Status < 400:
		return h2.Status{}
	case h.Refused != nil:
		return h.Refused(s.Head.Status, s.Body)
	}
	return h2.Status{Code: uint32(s.Head.Status), Message: fmt.Sprintf("HTTP %d %s", s.Head.Status, http.StatusText(s.Head.Status))}
}

// newConn is the connection that calls need.
func (c *core) newConn(l *link) protocol {
	if !c.call.old() {
		return h2.New(l, c.limits)
	}
	return h1.New(l, h1.Limits{
		Body: c.cfg.MaxMessage, Backend: strings.ToLower(c.call.Backend), NoContent: c.call.HTTP.Method == http.MethodHead,
	})
}

// prepare makes what all calls share.
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
		return errors.New("wire: a timeout of over 1000 hours")
	case c.call.old():
		if c.head, err = c.call.headHTTP(authority); err == nil {
			c.fixed = appendHTTP(nil, c.head, c.call.Message)
		}
	case c.call.HTTP != nil:
		c.request, err = c.call.requestHTTP(scheme, authority)
		c.fixed = c.call.Message
	default:
		c.request, err = c.call.request(scheme, authority, c.cfg.Timeout)
		c.fixed = frame(c.call.Message)
		if c.call.Talk != nil {
			c.talk = newTalk(c, c.call.Talk, func(method string, limit time.Duration, more []h2.Field) (*h2.Request, error) {
				call := c.call
				call.Method, call.Metadata = method, slices.Concat(call.Metadata, more)
				return call.request(scheme, authority, limit)
			})
		}
	}
	return err
}
