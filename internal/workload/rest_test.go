package workload_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// serveREST serves a REST backend and returns its base URL. stop shuts it down and waits.
func serveREST(t *testing.T, server *workload.Server) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Model, server.Log = workload.REST, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ctx, listener); err != nil {
			t.Errorf("the server ended with %v, want no error", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// ask makes one request and returns the status, the backend's identity and the body of the response.
func ask(t *testing.T, client *http.Client, method, url, body string) (int, string, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get(workload.BackendHeader), strings.TrimSpace(string(text))
}

// httpClient returns a client for HTTP/1.1, or for HTTP/2 in clear text.
func httpClient(t *testing.T, http2 bool) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestRESTServersAnswerEveryWorkload(t *testing.T) {
	url, _ := serveREST(t, &workload.Server{ID: "b3"})
	for _, http2 := range []bool{false, true} {
		for path, want := range map[string][2]string{
			"/greet":     {`{"name": "you"}`, `{"message":"Hello, you","backend":"b3"}`},
			"/increase":  {`{"value": 41}`, `{"value":42}`},
			"/fibonacci": {`{"n": 10}`, `{"value":"55","server_name":"b3"}`},
		} {
			status, id, body := ask(t, httpClient(t, http2), "POST", url+path, want[0])
			if status != 200 || id != "b3" || body != want[1] {
				t.Errorf("%s (HTTP/2 %t): status %d by %q: %s; want 200 by b3: %s", path, http2, status, id, body, want[1])
			}
		}
	}
	_, _, body := ask(t, httpClient(t, false), "POST", url+"/orders", `{"articles": [{"id": "a", "quantity": 1, "unit_price": 9.99}]}`)
	if uuid.Validate(strings.TrimSuffix(strings.TrimPrefix(body, `{"id":"`), `"}`)) != nil {
		t.Errorf("the order was answered with %s, want a UUID", body)
	}
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	url, _ := serveREST(t, &workload.Server{ID: "b"})
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/increase", `{"value": `, 400, "not valid JSON for /increase"},
		{"POST", "/increase", `{"value": -1}`, 400, "value"},
		{"POST", "/increase", `{"number": 1}`, 400, `unknown field \"number\"`},
		{"POST", "/increase", `{"value": 4294967295}`, 400, "no number after 4294967295"},
		{"POST", "/fibonacci", `{"n": 100001}`, 400, "the largest is 100000"},
		{"POST", "/orders", `{"articles": [{"id": "a", "quantity": 0}]}`, 400, "the quantity is 0"},
		{"POST", "/orders", `{"articles": [null]}`, 400, "the quantity is 0"},
		{"GET", "/increase", ``, 405, ""},
		{"POST", "/nowhere", `{}`, 404, ""},
	} {
		status, id, body := ask(t, httpClient(t, false), test.method, url+test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) || id != "b" {
			t.Errorf("%s %s %s: status %d by %q: %s; want %d by b: %s", test.method, test.path, test.body, status, id, body, test.status, test.want)
		}
	}
}

func TestFaultsApplyToREST(t *testing.T) {
	server := &workload.Server{ID: "b"}
	url, _ := serveREST(t, server)
	server.SetFault(workload.Fault{Code: 14})
	if status, _, body := ask(t, httpClient(t, false), "POST", url+"/increase", `{}`); status != 503 || !strings.Contains(body, "error loop") {
		t.Errorf("the injected code UNAVAILABLE returns status %d: %s; want 503", status, body)
	}
	server.SetFault(workload.Fault{})
	if status, _, body := ask(t, httpClient(t, false), "POST", url+"/increase", `{}`); status != 200 {
		t.Errorf("without a fault the status is %d: %s; want 200", status, body)
	}
}

func TestARESTServerDrainsBeforeItStops(t *testing.T) {
	url, stop := serveREST(t, &workload.Server{ID: "b", Delay: 2 * time.Second, Drain: 2 * time.Second})
	if status, _, body := ask(t, httpClient(t, false), "GET", url+"/healthz", ""); status != 200 || body != "SERVING" {
		t.Errorf("before the stop health is %d %s, want 200 SERVING", status, body)
	}
	client := httpClient(t, false)
	pending := make(chan int, 1)
	go func() {
		answer, err := client.Post(url+"/greet", "application/json", strings.NewReader(`{"name": "you"}`))
		if err != nil {
			t.Error(err)
			pending <- 0
			return
		}
		pending <- answer.StatusCode
		answer.Body.Close()
	}()
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	testkit.Await(t, "health is NOT_SERVING", func() bool {
		status, _, _ := ask(t, client, "GET", url+"/healthz", "")
		return status == 503
	})
	if status := <-pending; status != 200 {
		t.Errorf("the call in flight at the stop has status %d, want 200", status)
	}
	<-stopped
}
