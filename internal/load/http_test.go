package load

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// site is a web server for HTTP/1.1 and HTTP/2, with TLS or without. It counts the requests.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests map[string]int // by protocol, method, host, URI, token and body
}

func newSite(t *testing.T, secure bool) *site {
	t.Helper()
	server := &site{requests: map[string]int{}}
	server.Server = httptest.NewUnstartedServer(server)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetHTTP2(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// seen returns the counts of the requests so far.
func (s *site) seen() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests[fmt.Sprintf("%s %s %s %s %s %s", r.Proto, r.Method, r.Host, r.RequestURI, r.Header.Get("Token"), body)]++
	s.mu.Unlock()
	switch r.URL.Path {
	case "/chunks":
		for range 3 {
			io.WriteString(w, "some of it")
			w.(http.Flusher).Flush()
		}
	case "/close":
		w.Header().Set("Connection", "close")
	case "/moved":
		http.Redirect(w, r, "/missing", http.StatusFound)
	case "/missing":
		http.NotFound(w, r)
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
	case "/named":
		w.Header().Set(workload.BackendTrailer, "b7")
	case "/stalled":
		<-r.Context().Done()
	case "/user":
		if name, password, ok := r.BasicAuth(); !ok || name != "me" || password != "sec:ret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

// rest returns the settings of 20 GET requests.
func rest(target string) Settings {
	return Settings{Target: target, HTTP: "GET", Concurrency: 3, Calls: 20, MaxInFlight: 1, Timeout: time.Minute, Self: []string{os.Args[0]}}
}

// measureCalls makes the calls of a load without a warm-up and a self-test.
func measureCalls(t *testing.T, s Settings) measure.Measurement {
	t.Helper()
	load, err := Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	recorder, _, err := load.client.Run(t.Context(), load.pace, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	measurement, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return measurement
}

func TestRESTOverEveryProtocol(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, http2 := range []bool{false, true} {
			for path, want := range map[string]struct{ backend, code string }{
				"/":        {},
				"/chunks":  {},
				"/close":   {},
				"/moved":   {},
				"/named":   {backend: "b7"},
				"/missing": {code: "HTTP_404"},
				"/broken":  {code: "HTTP_500"},
			} {
				server := newSite(t, secure)
				settings := rest(server.URL + path)
				settings.HTTP2, settings.TLS.Insecure = http2, secure
				a := measureCalls(t, settings)
				if got := a.Backends[want.backend] + a.Errors[want.code]; a.Calls != 20 || got != 20 || len(a.Errors) > 0 != (want.code != "") {
					t.Errorf("%s, HTTP/2 %v: %d calls, backends %v, errors %v %v; want 20 calls by backend %q with code %q",
						settings.Target, http2, a.Calls, a.Backends, a.Errors, a.Samples, want.backend, want.code)
				}
				request := fmt.Sprintf("HTTP/1.1 GET %s %s  ", server.Listener.Addr(), path)
				if http2 {
					request = strings.Replace(request, "1.1", "2.0", 1)
				}
				if seen := server.seen(); seen[request] != 20 || len(seen) != 1 {
					t.Errorf("%s, HTTP/2 %v: the requests are %v, want 20 times %s", settings.Target, http2, seen, request)
				}
			}
		}
	}
}

func TestRESTCallsHaveTheConfiguredBodyAndHeaders(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := newSite(t, false)
		s := rest(server.URL + "/a%20b?c=[{{d}}")
		s.HTTP, s.HTTP2, s.Data, s.Metadata, s.Calls = "POST", http2, "[{{.Number}}]", []string{"token: x", "host: elsewhere"}, 10
		a := runWith(t, s, SelfTest).Arms[0]
		if generator, ok := a.Config["generator"].(SelfTestResult); !ok || generator.Unknown == "" || generator.Engine != Wire || len(a.Errors) > 0 {
			t.Fatalf("errors %v %v, self-test %+v; want no errors and a self-test that knows no templates", a.Errors, a.Samples, a.Config["generator"])
		}
		for n := range 10 {
			want := fmt.Sprintf("HTTP/1.1 POST elsewhere /a%%20b?c=[{{d}} x [%d]", n)
			if http2 {
				want = strings.Replace(want, "1.1", "2.0", 1)
			}
			if seen := server.seen(); seen[want] != 1 {
				t.Errorf("the requests are %v, want once %s", seen, want)
			}
		}
	}
}

func TestURLsMayHaveUserQueryAndPort(t *testing.T) {
	server := newSite(t, false)
	addr := server.Listener.Addr().String()
	for _, target := range []string{"http://me:sec%3Aret@" + addr + "/user", "http://" + addr, "http://" + addr + "?x#fragment"} {
		document := run(t, rest(target))
		if a := document.Arms[0]; len(a.Errors) > 0 || a.Name != addr {
			t.Errorf("%s, called %s: %v", target, a.Name, a.Errors)
		}
		if text := fmt.Sprint(document); strings.Contains(text, "sec:ret") || strings.Contains(text, "sec%3Aret") || strings.Contains(text, "//me") {
			t.Errorf("the result contains the user or the password, want them removed: %s", text)
		}
	}
	for target, want := range map[string]string{
		"http://[::1]/": "[::1]:80", "https://host": "host:443", "https://[fe80::1]:8443/x": "[fe80::1]:8443",
	} {
		if u, err := http.NewRequest("GET", target, nil); err != nil || address(u.URL) != want {
			t.Errorf("%s: %s, want %s", target, address(u.URL), want)
		}
	}
}

func TestRESTCallsOverIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Log("this machine has no IPv6: ", err)
		return
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	if a := measureCalls(t, rest("http://"+listener.Addr().String()+"/")); a.Errors["HTTP_404"] != 20 {
		t.Errorf("errors %v %v, want 20 of HTTP_404", a.Errors, a.Samples)
	}
}

func TestCallsToAStalledServerFailAtTheirDeadline(t *testing.T) {
	server := newSite(t, false)
	for _, http2 := range []bool{false, true} {
		s := rest(server.URL + "/stalled")
		s.HTTP2, s.Concurrency, s.Rate, s.MaxInFlight, s.Timeout = http2, 0, 1000, 100, 50*time.Millisecond
		if a := measureCalls(t, s); a.Errors["DEADLINE_EXCEEDED"] != 20 {
			t.Errorf("HTTP/2 %v: errors %v %v, want 20 of DEADLINE_EXCEEDED", http2, a.Errors, a.Samples)
		}
	}
}

func TestRESTOverMutualTLS(t *testing.T) {
	config, cert, key := mutual(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) != 1 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.EnableHTTP2 = true
	server.TLS = config
	server.StartTLS()
	defer server.Close()
	for _, http2 := range []bool{false, true} {
		s := rest(server.URL)
		s.HTTP2, s.TLS = http2, TLS{CACert: cert, Cert: cert, Key: key, ServerName: "localhost"}
		if a := measureCalls(t, s); a.Calls != 20 || len(a.Errors) > 0 {
			t.Errorf("HTTP/2 %v: %d calls, errors %v %v; want 20 calls without errors", http2, a.Calls, a.Errors, a.Samples)
		}
	}
	if _, err := Open(t.Context(), rest(server.URL)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an https URL without TLS flags: the error is %v, want one about the certificate", err)
	}
}

func TestRESTCallsOpenTheConfiguredConnections(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for want, change := range map[string]func(*Settings){
		"as needed": func(s *Settings) { s.Concurrency = 1 },
		"pool of 7": func(s *Settings) { s.Connections = 7 },
		"per-call":  func(s *Settings) { s.PerCall = true },
	} {
		opened.Store(0)
		s := rest(server.URL)
		change(&s)
		arm := run(t, s).Arms[0]
		// With a connection for each call, one more connection probes whether the server listens.
		n := map[string]int64{"as needed": 1, "pool of 7": 7, "per-call": 21}[want]
		testkit.Await(t, "the server has accepted the connections", func() bool { return opened.Load() >= n })
		if arm.Channel != want || opened.Load() != n {
			t.Errorf("the channel is %q with %d connections, want %q with %d", arm.Channel, opened.Load(), want, n)
		}
	}
}

func TestTheSelfTestWorksForREST(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, size := range []int{100, 2 * maxFastServerMessage} {
			a, err := SelfTest(t.Context(), Probe{Engine: Wire, HTTP: version, Request: 10, Reply: size, Duration: 50 * time.Millisecond, Self: []string{os.Args[0]}})
			if err != nil || a.CeilingRate == nil || a.ReceivedBytes < size || a.SentBytes < 20 {
				t.Errorf("HTTP/%d, responses of %d bytes: the self-test is %+v, %v; want a ceiling and the bytes of both directions", version, size, a, err)
			}
		}
	}
}

func TestReservedHeadersAreRejected(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"rpclab sets this header itself":         func(s *Settings) { s.Metadata = []string{"content-length: 7"} },
		"HTTP/2 forbids this header":             func(s *Settings) { s.Metadata, s.HTTP2 = []string{"connection: close"}, true },
		"must be escaped in a URL: write %C3%BC": func(s *Settings) { s.Target += "/?a=\u00fc" },
		"cannot connect to 127.0.0.1":            func(s *Settings) { s.Target = "http://127.0.0.1:1" },
	} {
		s := rest("http://127.0.0.1:1")
		change(&s)
		if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestAServerWithoutHTTP2IsReportedWithAHint(t *testing.T) {
	for _, secure := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		defer server.Close()
		settings := rest(server.URL)
		settings.HTTP2, settings.TLS.Insecure = true, secure
		if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "leave out --http2") {
			t.Errorf("TLS %v: the error is %v, want a hint to leave out --http2", secure, err)
		}
		settings.HTTP2 = false
		if a := measureCalls(t, settings); a.Errors["HTTP_404"] != 20 {
			t.Errorf("TLS %v: errors %v, want 20 of HTTP_404", secure, a.Errors)
		}
	}
}
