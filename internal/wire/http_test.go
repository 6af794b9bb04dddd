package wire_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// echo is a web server over HTTP/1.1 and, with or without TLS, HTTP/2.
func echo(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Who", "b1")
		switch r.URL.Path {
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Mine"), body)
		case "/chunks":
			for i := range 5 {
				fmt.Fprintf(w, "piece %d;", i)
				w.(http.Flusher).Flush()
			}
		case "/close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "bye")
		case "/cut":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "cut")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/slow":
			<-r.Context().Done()
		default:
			http.Error(w, "no such thing", http.StatusNotFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // an engine that closes may end a handshake
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetHTTP2(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.EnableHTTP2 = secure
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

func TestHTTPRequestsOverEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		server := echo(t, secure)
		for _, version := range []int{1, 2} {
			for _, c := range []struct {
				method, path, body, want, code string
			}{
				{"GET", "/echo", "", "GET yes ", measure.OK},
				{"POST", "/echo", "body", "POST yes body", measure.OK},
				{"PUT", "/echo", strings.Repeat("long", 50_000), "PUT yes " + strings.Repeat("long", 50_000), measure.OK},
				{"GET", "/chunks", "", "piece 0;piece 1;piece 2;piece 3;piece 4;", measure.OK},
				{"GET", "/close", "", "bye", measure.OK},
				{"GET", "/empty", "", "", measure.OK},
				{"HEAD", "/chunks", "", "", measure.OK},
				{"GET", "/nowhere", "", "", "HTTP_404"},
				{"GET", "/slow", "", "", "DEADLINE_EXCEEDED"},
			} {
				t.Run(fmt.Sprintf("HTTP/%d TLS %v %s %s", version, secure, c.method, c.path), func(t *testing.T) {
					t.Parallel()
					cfg := wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 3, Timeout: 10 * time.Second}
					if secure {
						cfg.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
					}
					calls := 30
					if c.path == "/slow" {
						cfg.Timeout, calls = 30*time.Millisecond, 6
					}
					e := engine(t, cfg, wire.Call{
						HTTP:      &wire.HTTP{Method: c.method, Path: c.path, Version: version},
						Authority: "example.com", Backend: "who",
						Metadata: []h2.Field{{Name: "x-mine", Value: "yes"}}, Message: []byte(c.body),
						Check: func(_ uint64, response []byte, _ string) error {
							if string(response) != c.want {
								return fmt.Errorf("answered %.40q", response)
							}
							return nil
						},
					})
					m := load(t, e, pace.Closed{Users: 5, Calls: uint64(calls)})
					got := m.Errors[c.code]
					if c.code == measure.OK {
						got = m.Backends["b1"]
					}
					if got != uint64(calls) {
						t.Errorf("backends %v, errors %v %v", m.Backends, m.Errors, m.Samples)
					}
				})
			}
		}
	}
}

func TestEachHTTPRequestSendsItsOwnMessage(t *testing.T) {
	server := echo(t, false)
	for _, version := range []int{1, 2} {
		e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 2}, wire.Call{
			HTTP:          &wire.HTTP{Method: "POST", Path: "/echo", Version: version},
			AppendMessage: func(n uint64, _ int, to []byte) ([]byte, error) { return fmt.Append(to, "message ", n), nil },
			Check: func(n uint64, response []byte, _ string) error {
				if want := fmt.Sprint("POST  message ", n); string(response) != want {
					return fmt.Errorf("answered %q, want %q", response, want)
				}
				return nil
			},
		})
		if m := load(t, e, pace.Closed{Users: 20, Calls: 2000}); m.Backends[""] != 2000 {
			t.Errorf("HTTP/%d: errors %v %v", version, m.Errors, m.Samples)
		}
	}
}

func TestInvalidHTTPRequestsAreRejected(t *testing.T) {
	for want, call := range map[string]wire.Call{
		"no HTTP method": {HTTP: &wire.HTTP{Method: "get", Path: "/", Version: 1}},
		"HTTP/3":         {HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 3}},
		"the path":       {HTTP: &wire.HTTP{Method: "GET", Path: "/a b", Version: 1}},
		"header field":   {HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 1}, Metadata: []h2.Field{{Name: "a", Value: "b\r\nc: d"}}},
		"the method":     {Method: "SayHello"},
		"metadata":       {Method: "/a.B/C", Metadata: []h2.Field{{Name: "grpc-timeout", Value: "1S"}}},
	} {
		if _, err := wire.New(wire.Config{}, call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A response that is shorter than its content-length is malformed (RFC 9113, section 8.1.1).
func TestACutResponseFails(t *testing.T) {
	t.Parallel()
	server := echo(t, false)
	for _, c := range []struct {
		version int
		method  string
		want    string
	}{{1, "GET", "UNAVAILABLE"}, {2, "GET", "INTERNAL"}, {2, "HEAD", measure.OK}} {
		e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 1},
			wire.Call{HTTP: &wire.HTTP{Method: c.method, Path: "/cut", Version: c.version}, Authority: "example.com"})
		m := load(t, e, pace.Sequence(3))
		if got := m.Errors[c.want]; c.want != measure.OK && got != 3 || c.want == measure.OK && len(m.Errors) > 0 {
			t.Errorf("%s over HTTP/%d: errors %v %v, want %s", c.method, c.version, m.Errors, m.Samples, c.want)
		}
	}
}

// Nothing else wakes the client when a connection ends, so that is when its calls end.
func TestACallEndsWhenTheServerClosesItsConnection(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	for what, c := range map[string]struct {
		response string // to the first call, before the close
		reset    bool
		calls    uint64
		failed   uint64
	}{
		"after a response without a length": {response: "HTTP/1.1 200 OK\r\n\r\nbody", calls: 1},
		"without a response":                {calls: 2, failed: 1},
		"by a reset":                        {reset: true, calls: 2, failed: 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) > 1 {
					return
				}
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, c.response)
				<-time.After(delay)
				if c.reset {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
			}))
			t.Cleanup(server.Close)
			e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}}, get("/"))
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			m := load(t, e, pace.Sequence(c.calls))
			if m.Calls != c.calls || m.Errors["UNAVAILABLE"] != c.failed || len(m.Errors) > int(c.failed) {
				t.Fatalf("%d calls, errors %v %v", m.Calls, m.Errors, m.Samples)
			}
			// The one response is that to the first call, or to the next one, which is due when the first has failed.
			took := time.Duration(decode(t, m.Latency).Min())
			if slow := took >= delay*999/1000; slow != (c.failed == 0) {
				t.Errorf("the response came after %v; the server closed the first connection after %v", took, delay)
			}
		})
	}
}
