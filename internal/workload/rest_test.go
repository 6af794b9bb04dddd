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

// rest serves a REST backend and returns its base URL, and what tells it to go and waits.
func rest(t *testing.T, s *workload.Server) (url string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Model, s.Log = workload.REST, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(ctx, listener); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// ask makes one request by a client of its own and returns the status, the identity and
// the body of the answer.
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
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get(workload.BackendHeader), strings.TrimSpace(string(said))
}

// httpClient speaks HTTP/1.1, or HTTP/2 in clear text.
func httpClient(t *testing.T, two bool) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestTheWorkloadsAreAnsweredAsJSON(t *testing.T) {
	url, _ := rest(t, &workload.Server{ID: "b3"})
	for _, two := range []bool{false, true} {
		for path, want := range map[string][2]string{
			"/greet":     {`{"name": "you"}`, `{"message":"Hello, you","backend":"b3"}`},
			"/increase":  {`{"value": 41}`, `{"value":42}`},
			"/fibonacci": {`{"n": 10}`, `{"value":"55","server_name":"b3"}`},
		} {
			status, id, said := ask(t, httpClient(t, two), "POST", url+path, want[0])
			if status != 200 || id != "b3" || said != want[1] {
				t.Errorf("%s (HTTP/2 %t): %d by %q: %s", path, two, status, id, said)
			}
		}
	}
	_, _, said := ask(t, httpClient(t, false), "POST", url+"/orders", `{"articles": [{"id": "a", "quantity": 1, "unit_price": 9.99}]}`)
	if uuid.Validate(strings.TrimSuffix(strings.TrimPrefix(said, `{"id":"`), `"}`)) != nil {
		t.Errorf("the order was answered with %s", said)
	}
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	url, _ := rest(t, &workload.Server{ID: "b"})
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
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
		status, id, said := ask(t, httpClient(t, false), c.method, url+c.path, c.body)
		if status != c.status || !strings.Contains(said, c.says) || id != "b" {
			t.Errorf("%s %s %s: %d by %q: %s", c.method, c.path, c.body, status, id, said)
		}
	}
}

func TestFaultsApplyToREST(t *testing.T) {
	s := &workload.Server{ID: "b"}
	url, _ := rest(t, s)
	s.SetFault(workload.Fault{Code: 14})
	if status, _, said := ask(t, httpClient(t, false), "POST", url+"/increase", `{}`); status != 503 || !strings.Contains(said, "error loop") {
		t.Errorf("UNAVAILABLE came as %d: %s", status, said)
	}
	s.SetFault(workload.Fault{})
	if status, _, said := ask(t, httpClient(t, false), "POST", url+"/increase", `{}`); status != 200 {
		t.Errorf("it is still faulty: %d %s", status, said)
	}
}

func TestARESTServerDrains(t *testing.T) {
	url, stop := rest(t, &workload.Server{ID: "b", Delay: 2 * time.Second, Drain: 2 * time.Second})
	if status, _, said := ask(t, httpClient(t, false), "GET", url+"/healthz", ""); status != 200 || said != "SERVING" {
		t.Errorf("at first it is %d %s", status, said)
	}
	kept := httpClient(t, false)
	pending := make(chan int, 1)
	go func() {
		answer, err := kept.Post(url+"/greet", "application/json", strings.NewReader(`{"name": "you"}`))
		if err != nil {
			t.Error(err)
			pending <- 0
			return
		}
		pending <- answer.StatusCode
		answer.Body.Close()
	}()
	gone := make(chan struct{})
	go func() { defer close(gone); stop() }()
	testkit.Await(t, "it says that it does not serve", func() bool {
		status, _, _ := ask(t, kept, "GET", url+"/healthz", "")
		return status == 503
	})
	if status := <-pending; status != 200 {
		t.Errorf("the call that it had: %d", status)
	}
	<-gone
}
