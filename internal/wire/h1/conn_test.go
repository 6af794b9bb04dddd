package h1

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"rpclab/internal/wire/h2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type handler struct {
	done     []*h2.Stream
	status   []int // of each that is done
	admitted int
	returned int
}

func (h *handler) Ready()          {}
func (h *handler) Data(*h2.Stream) {}
func (h *handler) Done(s *h2.Stream) {
	status := 0
	if s.Headers != nil {
		status = s.Headers.Status
	}
	h.done, h.status = append(h.done, s), append(h.status, status)
}
func (h *handler) Admitted(*h2.Stream) bool       { h.admitted++; return true }
func (h *handler) Returned(*h2.Stream, h2.Status) { h.returned++ }

func TestResponsesMayArriveInPieces(t *testing.T) {
	for what, c := range map[string]struct {
		said, body string
		status     int
		reusable   bool
	}{
		"length":             {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200, true},
		"nothing":            {"HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", "", 200, true},
		"no content":         {"HTTP/1.1 204 No Content\r\n\r\n", "", 204, true},
		"chunks":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n", "hello", 200, true},
		"after announcement": {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "no", 404, true},
		"close":              {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false},
		"close in a list":    {"HTTP/1.1 200 OK\r\nConnection: Upgrade, close\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false},
		"close, and another": {"HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false},
		"old":                {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false},
		"old, kept alive":    {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", "ok", 200, true},
		"until the end":      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end", 200, false},
	} {
		for _, size := range []int{1, 2, 7, 1000} {
			h := &handler{}
			c0 := New(h, Limits{})
			c0.Start(&h2.Stream{Payload: []byte("GET / HTTP/1.1\r\n\r\n")})
			for said := c.said; said != ""; said = said[min(size, len(said)):] {
				if err := c0.Feed([]byte(said[:min(size, len(said))])); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			if usable := c0.Usable(); usable != c.reusable {
				t.Errorf("%s: usable %v", what, usable)
			}
			c0.End()
			c0.Close(h2.Status{Code: h2.Unavailable})
			if len(h.done) != 1 || h.status[0] != c.status || string(h.done[0].Body) != c.body || h.done[0].Failed.Code != h2.OK {
				t.Errorf("%s in pieces of %d: %d done, %v %+v", what, size, len(h.done), h.status, h.done)
			}
		}
	}
}

func TestAnIncompleteResponseFailsItsCall(t *testing.T) {
	h := &handler{}
	c := New(h, Limits{})
	c.Start(&h2.Stream{Payload: []byte("GET / HTTP/1.1\r\n\r\n")})
	if err := c.Feed([]byte("HTTP/1.1 200 OK\r\n\r\nuntil the")); err != nil {
		t.Fatal(err)
	}
	c.Close(h2.Status{Code: h2.Unavailable}) // as after a reset
	if len(h.done) != 1 || h.done[0].Failed.Code != h2.Unavailable {
		t.Errorf("%d done: %+v", len(h.done), h.done)
	}
}

func TestInvalidResponsesAreRejected(t *testing.T) {
	for _, said := range []string{
		"garbage without an end", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nnocolon\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", "HTTP/1.1 " + strings.Repeat("x", 100_000),
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
	} {
		h := &handler{}
		c := New(h, Limits{Head: 64 << 10})
		c.Start(&h2.Stream{})
		err := c.Feed([]byte(said))
		if err == nil || len(h.done) != 1 || c.Usable() {
			t.Errorf("%.60q: error %v, %d done", said, err, len(h.done))
		}
	}
}

func TestRequestsWaitForThePreviousResponse(t *testing.T) {
	h := &handler{}
	c := New(h, Limits{})
	first, second, third := &h2.Stream{Payload: []byte("1")}, &h2.Stream{Payload: []byte("2")}, &h2.Stream{Payload: []byte("3")}
	c.Start(first)
	c.Start(second)
	c.Start(third)
	c.Cancel(second)
	if string(c.Out()) != "1" || c.Active() != 2 {
		t.Fatalf("out %q, %d active", c.Out(), c.Active())
	}
	if err := c.Feed([]byte("HTTP/1.1 204 x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if string(c.Out()) != "13" || h.admitted != 1 {
		t.Errorf("out %q, %d admitted", c.Out(), h.admitted)
	}
	c.Start(second)
	c.Cancel(third) // the server will respond, so the connection cannot be used again
	if c.Usable() || h.returned != 1 {
		t.Errorf("usable %v, %d returned", c.Usable(), h.returned)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 204 x\r\n\r\n"), uint8(3))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n\r\n"), uint8(1))
	f.Add([]byte("HTTP/1.0 200 OK\r\n\r\nto the end"), uint8(200))
	f.Fuzz(func(t *testing.T, said []byte, piece uint8) {
		h := &handler{}
		c := New(h, Limits{})
		for range 3 {
			c.Start(&h2.Stream{Payload: []byte("x")})
		}
		for len(said) > 0 {
			n := min(int(piece)+1, len(said))
			if c.Feed(said[:n]) != nil {
				break
			}
			said = said[n:]
		}
		c.Close(h2.Status{Code: h2.Unavailable})
		if len(h.done)+h.returned != 3 || c.Active() != 0 {
			t.Fatalf("%d done, %d returned, %d active", len(h.done), h.returned, c.Active())
		}
	})
}

func TestErrorsQuoteLittle(t *testing.T) {
	long := strings.Repeat("\x01", 1<<20)
	for _, said := range []string{"Content-Length: " + long, "Transfer-Encoding: " + long, long, "Transfer-Encoding: chunked\r\n\r\n" + long} {
		c := New(&handler{}, Limits{})
		c.Start(&h2.Stream{Payload: []byte("GET / HTTP/1.1\r\n\r\n")})
		if err := c.Feed([]byte("HTTP/1.1 200 OK\r\n" + said + "\r\n\r\n")); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.30q: %.100v, want a short error", said, err)
		}
	}
}

func TestAHeadMayBeAsLongAsItsLimit(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 0\r\n\r\n"
	for limit, fits := range map[int]bool{len(head): true, len(head) - 1: false} {
		for _, first := range []int{0, 10, len(head) - 1} { // bytes of the first read
			h := &handler{}
			c := New(h, Limits{Head: limit})
			c.Start(&h2.Stream{})
			err := errors.Join(c.Feed([]byte(head[:first])), c.Feed([]byte(head[first:])))
			if (err == nil) != fits || len(h.done) != 1 {
				t.Errorf("limit %d, head of %d bytes, %d of them first: error %v, %d done", limit, len(head), first, err, len(h.done))
			}
		}
	}
}
