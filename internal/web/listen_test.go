package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// network is a listener in memory, so that its deadlines pass in the time of a synctest bubble.
type network struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.connections:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { close(n.closed); return nil }
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn
	remote string
}

func (f from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.remote))
}

// dial connects from an address. The listener accepts the connection when it has room for it.
func (n *network) dial(t *testing.T, remote string) net.Conn {
	client, server := net.Pipe()
	go func() {
		select {
		case n.connections <- from{server, remote}:
		case <-n.closed:
			server.Close()
		}
	}()
	t.Cleanup(func() { client.Close() })
	return client
}

// request sends a request over a new connection from an address.
func (n *network) request(ctx context.Context, t *testing.T, remote string, r *http.Request) (*http.Response, error) {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return n.dial(t, remote), nil }}
	t.Cleanup(transport.CloseIdleConnections)
	return transport.RoundTrip(r.WithContext(ctx))
}

// inMemory serves a page with a token over at most so many connections.
func inMemory(t *testing.T, connections int) *network {
	t.Helper()
	s, err := New(Options{Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	n := &network{make(chan net.Conn), make(chan struct{})}
	end := serveAt(n, connections, s.Handler(), slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		s.Close()
		end()
	})
	return n
}

func get(path string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

func login(token string) *http.Request {
	r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// slowLogin sends a login whose body never ends.
func (n *network) slowLogin(t *testing.T, remote string) net.Conn {
	c := n.dial(t, remote)
	go fmt.Fprintf(c, "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=")
	return c
}

func TestSlowRequestsEndAndTheNextOnesAreServed(t *testing.T) {
	slow := map[string]string{
		"headers":         "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
		"body of a login": "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=",
		"body of a run":   "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + secret + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"unread body":     "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"nothing":         "",
	}
	for name, text := range slow {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := inMemory(t, 4)
				for i := range 8 {
					c := n.dial(t, fmt.Sprintf("192.0.2.%d:9", i))
					go func() {
						_, _ = io.WriteString(c, text)
						_, _ = io.Copy(io.Discard, c)
					}()
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				response, err := n.request(ctx, t, "127.0.0.1:9", get("/api/v1/live"))
				if err != nil {
					t.Fatalf("8 slow requests take all 4 connections for a minute: %v", err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("the status is %d, want 200", response.StatusCode)
				}
			})
		})
	}
}

func TestAFollowerStaysConnectedLongerThanARequestMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, 4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		response, err := n.request(ctx, t, "127.0.0.1:9", get("/api/v1/live/events"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		began := time.Now()
		for lines := bufio.NewScanner(response.Body); time.Since(began) < 10*time.Minute; {
			if !lines.Scan() {
				t.Fatalf("the connection ended after %v: %v", time.Since(began), lines.Err())
			}
		}
	})
}

func TestLoginsOfOneAddressAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, maxConnections)
		status := func(remote, token string) (int, string) {
			response, err := n.request(t.Context(), t, remote, login(token))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			return response.StatusCode, response.Header.Get("Retry-After")
		}
		for i := range loginBurst {
			if got, _ := status("192.0.2.1:9", "guess"); got != http.StatusUnauthorized {
				t.Fatalf("login %d has status %d, want 401", i+1, got)
			}
		}
		if got, after := status("192.0.2.1:10", secret); got != http.StatusTooManyRequests || after != "6" {
			t.Errorf("after %d logins the next has status %d and Retry-After %q, want 429 and 6", loginBurst, got, after)
		}
		if got, _ := status("192.0.2.2:9", secret); got != http.StatusSeeOther {
			t.Errorf("a login from another address has status %d, want 303", got)
		}
		<-time.After(loginInterval)
		if got, _ := status("192.0.2.1:9", secret); got != http.StatusSeeOther {
			t.Errorf("after %v the login has status %d, want 303", loginInterval, got)
		}
	})
}

// A program could send any number of guesses as bearer tokens, to the page and to the metrics.
func TestWrongTokensOfOneAddressAreLimited(t *testing.T) {
	for name, handler := range map[string]func(*testing.T) http.Handler{
		"page": func(t *testing.T) http.Handler {
			s, err := New(Options{Token: secret})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s.Handler()
		},
		"metrics": func(*testing.T) http.Handler {
			return Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), secret, nil, slog.New(slog.DiscardHandler))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			guarded := handler(t)
			status := func(remote, token string) (int, string) {
				r := get("/api/v1/live")
				r.RemoteAddr = remote
				r.Header.Set("Authorization", "Bearer "+token)
				w := httptest.NewRecorder()
				guarded.ServeHTTP(w, r)
				return w.Code, w.Header().Get("Retry-After")
			}
			for i := range loginBurst {
				if got, _ := status("192.0.2.1:9", "guess"); got != http.StatusUnauthorized {
					t.Fatalf("%s: wrong token %d has status %d, want 401", name, i+1, got)
				}
			}
			if got, after := status("192.0.2.1:10", "guess"); got != http.StatusTooManyRequests || after != "6" {
				t.Errorf("%s: after %d wrong tokens the next has status %d and Retry-After %q, want 429 and 6", name, loginBurst, got, after)
			}
			for range 2 * loginBurst { // clients behind one proxy have one address
				if got, _ := status("192.0.2.1:9", secret); got != http.StatusOK {
					t.Fatalf("%s: the token has status %d after wrong ones from its address, want 200", name, got)
				}
			}
			if got, _ := status("192.0.2.2:9", "guess"); got != http.StatusUnauthorized {
				t.Errorf("%s: a wrong token from another address has status %d, want 401", name, got)
			}
			<-time.After(loginInterval)
			if got, _ := status("192.0.2.1:9", "guess"); got != http.StatusUnauthorized {
				t.Errorf("%s: after %v a wrong token has status %d, want 401", name, loginInterval, got)
			}
		})
	}
}

func TestOpenLoginsOfOneAddressAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, maxConnections)
		for range maxOpenLogins {
			n.slowLogin(t, "192.0.2.1:9")
		}
		synctest.Wait()
		for remote, want := range map[string]int{"192.0.2.1:10": http.StatusTooManyRequests, "192.0.2.2:9": http.StatusSeeOther} {
			response, err := n.request(t.Context(), t, remote, login(secret))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("with %d open logins from 192.0.2.1, a login from %s has status %d, want %d", maxOpenLogins, remote, response.StatusCode, want)
			}
		}
	})
}

func TestLoginsFromManyAddressesTakeBoundedMemory(t *testing.T) {
	l, now := newLogins(), time.Unix(0, 0)
	refused := 0
	for i := range 4 * maxLoginAddresses {
		done, wait := l.begin(fmt.Sprintf("[2001:db8:%x::1]:9", i), now)
		if wait > 0 {
			refused++
			continue
		}
		done()
	}
	if len(l.from) != maxLoginAddresses || refused != 3*maxLoginAddresses {
		t.Errorf("%d addresses are kept and %d logins refused, want %d and %d", len(l.from), refused, maxLoginAddresses, 3*maxLoginAddresses)
	}
	if _, wait := l.begin("192.0.2.1:9", now.Add(loginBurst*loginInterval)); wait > 0 || len(l.from) != 1 {
		t.Errorf("later a login waits %v and %d addresses are kept, want no wait and 1", wait, len(l.from))
	}
	for _, other := range []string{"[2001:db8::1]:9", "[2001:db8::ffff:1]:10"} {
		if client(other).String() != "2001:db8::" {
			t.Errorf("%s counts as %s, want 2001:db8::", other, client(other))
		}
	}
}

func TestAPageTakesAtMostAnEighthOfTheFiles(t *testing.T) {
	for files, want := range map[uint64]int{4: 1, 256: 32, 1024: 128, 1 << 20: 128} {
		if got := connectionBudget(files); got != want {
			t.Errorf("of %d files a listener takes %d, want %d", files, got, want)
		}
	}
}

func TestClientsWithoutTheTokenKeepNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := inMemory(t, 4)
		for name, c := range map[string]struct {
			request string
			closes  bool
		}{
			"login page": {"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", true},
			"no token":   {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", true},
			"other host": {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", true},
			"the token":  {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + secret + "\r\n\r\n", false},
		} {
			conn := n.dial(t, "127.0.0.1:9")
			if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil { // not later: a closed connection takes none
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(conn, c.request) }()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, io.EOF) != c.closes {
				t.Errorf("%s: the server closes the connection: %v, want %v", name, errors.Is(err, io.EOF), c.closes)
			}
		}
	})
}
