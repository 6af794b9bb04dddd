package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"rpclab/internal/workload"
)

// After 101 Switching Protocols a connection carries bytes of another protocol, which faults do not affect.
func TestAnUpgradedConnectionIsPassedOn(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			return
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if r.URL.Path == "/refused" {
			_, _ = io.WriteString(conn, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n\x00first")
		_, _ = io.Copy(conn, buffered)
	}))
	defer backend.Close()
	proxy, address := proxied(t, backend.Listener.Addr().String())
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	response := func(want int) *http.Response {
		t.Helper()
		answer, err := http.ReadResponse(in, nil)
		if err != nil || answer.StatusCode != want {
			t.Fatalf("the answer is %+v, %v; want %d", answer, err, want)
		}
		return answer
	}
	send("GET / HTTP/1.1\r\nHost: b\r\n\r\n")
	response(200)
	send("GET /echo HTTP/1.1\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n\x01early")
	if got := response(101).Header; got.Get("Upgrade") != "echo" || got.Get("Connection") != "Upgrade" {
		t.Errorf("the headers of the answer are %v, want those of the backend", got)
	}
	proxy.SetFault(workload.Fault{Code: codes.Unavailable})
	send("\x02late")
	got := make([]byte, len("\x00first\x01early\x02late"))
	if _, err := io.ReadFull(in, got); string(got) != "\x00first\x01early\x02late" {
		t.Errorf("the upgraded connection returns %q, %v", got, err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("at its end the connection returns %q, %v; want the end", rest, err)
	}
	proxy.SetFault(workload.Fault{})
	if conn, err = net.Dial("tcp", address); err != nil {
		t.Fatal(err)
	}
	in = bufio.NewReader(conn)
	send("GET /refused HTTP/1.1\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	response(426)
}

// A client of events must see the first one before the last is made.
func TestHTTP1IsPassedOnInParts(t *testing.T) {
	for name, rest := range map[string]string{"sized": "last\n", "chunked": "last\n" + strings.Repeat("x", 100<<10)} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan struct{})
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if name == "sized" {
					w.Header().Set("Content-Length", "11")
				}
				_, _ = io.WriteString(w, "first\n")
				w.(http.Flusher).Flush()
				<-seen
				_, _ = io.WriteString(w, rest)
			}))
			defer backend.Close()
			end := sync.OnceFunc(func() { close(seen) })
			defer end()
			_, address := proxied(t, backend.Listener.Addr().String())
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
			response, err := client.Get("http://" + address)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			in := bufio.NewReader(response.Body)
			if first, err := in.ReadString('\n'); first != "first\n" || err != nil {
				t.Errorf("before the end the client has %q (%v), want the first line", first, err)
			}
			end()
			if got, err := io.ReadAll(in); string(got) != rest || err != nil {
				t.Errorf("after it the client has %d bytes (%v), want the %d of the rest", len(got), err, len(rest))
			}
		})
	}
}

func TestHTTP1IsPassedOn(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b", Model: workload.REST, Delay: 10 * time.Millisecond})
	proxy, address := proxied(t, address)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	post := func(want int, least time.Duration) {
		t.Helper()
		began := time.Now()
		answer, err := client.Post("http://"+address+"/greet", "application/json", strings.NewReader(`{"name": "you"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != want || want == 200 && !strings.Contains(string(body), "you") {
			t.Errorf("the answer is %s %q, %v; want %d", answer.Status, body, err, want)
		}
		if took := time.Since(began); took < least {
			t.Errorf("the request took %v, want at least %v", took, least)
		}
	}
	post(200, 0)
	proxy.SetFault(workload.Fault{Factor: 10})
	post(200, 100*time.Millisecond)
	proxy.SetFault(workload.Fault{Code: codes.Unavailable})
	post(503, 0)
	proxy.SetFault(workload.Fault{Code: codes.Unavailable, Share: 1e-9})
	post(200, 0)
}

// A slow backend answers late, once: 103 Early Hints is no answer.
func TestOnlyTheFinalResponseIsDelayed(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	}))
	defer backend.Close()
	proxy, address := proxied(t, backend.Listener.Addr().String())
	const slow = time.Second
	proxy.SetFault(workload.Fault{Slow: slow})
	began, hinted := time.Now(), time.Duration(0)
	trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		hinted = time.Since(began)
		return nil
	}}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); response.Body.Close() != nil || hinted == 0 || hinted >= slow || took < slow {
		t.Errorf("the hints came after %v and the response after %v, want at once and after %v", hinted, took, slow)
	}
}
