package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"rpclab/internal/caller"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/gateway"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers starts backends b0, b1, … and returns their addresses, comma-separated.
func servers(t *testing.T, each ...*workload.Server) string {
	t.Helper()
	var addrs []string
	for i, server := range each {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server.ID, server.Log = "b"+string(rune('0'+i)), slog.New(slog.DiscardHandler)
		ctx, stop := context.WithCancel(context.Background())
		var served sync.WaitGroup
		served.Go(func() { _ = server.Serve(ctx, listener) })
		t.Cleanup(func() {
			stop()
			served.Wait()
		})
		addrs = append(addrs, listener.Addr().String())
	}
	return strings.Join(addrs, ",")
}

// serve starts a gateway and returns its URL.
func serve(t *testing.T, o gateway.Options) string {
	t.Helper()
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		s.Close()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

func target(t *testing.T, text string) caller.Target {
	t.Helper()
	target, err := gateway.Target(text, settings.RoundRobin)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

type reply struct {
	status  int
	body    string
	counted url.Values // calls by backend
}

func ask(t *testing.T, method, address string, fields ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	counted, err := url.ParseQuery(response.Header.Get(nethttp.BackendsHeader))
	if err != nil {
		t.Error(err)
	}
	return reply{response.StatusCode, string(body), counted}
}

func get(t *testing.T, address string) reply {
	t.Helper()
	return ask(t, http.MethodGet, address)
}

func TestResponsesReportCallsByBackend(t *testing.T) {
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, servers(t, &workload.Server{}, &workload.Server{}))})
	// The first calls may be made before both connections are open.
	testkit.Await(t, "both backends are reached", func() bool { return len(get(t, at+"/increment?iterations=4").counted) == 2 })
	for path, want := range map[string]string{
		"/fibonacci/random?iterations=10&output=false&fibo_start=800&fibo_end=10000": "calls answered: 10 (b0 5, b1 5)\n",
		"/increment?iterations=8": "calls answered: 8 (b0 4, b1 4)\n",
		"/increment?iteration=2":  "calls answered: 2 (b0 1, b1 1)\n",
	} {
		if got := get(t, at+path); got.status != 200 || got.body != want {
			t.Errorf("%s answered %d %q, want %q", path, got.status, got.body, want)
		}
	}
	if got := get(t, at+"/fibonacci?n=100"); !strings.Contains(got.body, `"n":100,"value":"354224848179261915075"`) {
		t.Errorf("/fibonacci?n=100 answered %s", got.body)
	}
	var all struct {
		Calls []struct {
			Server string `json:"server_name"`
			N      int
			Value  string
		}
	}
	got := get(t, at+"/fibonacci/random?iterations=6&output=true&fibo_start=10&fibo_end=10")
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || len(all.Calls) != 6 {
		t.Fatalf("got %q: %v", got.body, err)
	}
	for _, call := range all.Calls {
		if call.N != 10 || call.Value != "55" || !strings.HasPrefix(call.Server, "b") {
			t.Errorf("a call is %+v, want number 10 with the value 55", call)
		}
	}
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, servers(t, &workload.Server{}))})
	for path, want := range map[string]string{
		"/fibonacci/random?iterations=10001":          "iterations=10001: must be a number from 1 to 10000",
		"/fibonacci/random?iterations=0":              "iterations=0: must be a number from 1",
		"/fibonacci/random?iterations=ten":            "iterations=ten: must be a number",
		"/fibonacci/random?fibo_start=2000":           "fibo_start is 2000 and fibo_end 1000: fibo_start must not be larger",
		"/fibonacci/random?fibo_end=100001":           "fibo_end=100001: must be a number from 0 to 100000",
		"/fibonacci/random?output=maybe":              "output=maybe: must be true or false",
		"/fibonacci/random?iteration=1&iterations=1":  "iterations and iteration are the same parameter",
		"/fibonacci/random?iterations=1&iterations=2": "iterations is given 2 times",
		"/fibonacci/random?iterations=1&fibostart=1":  "unknown parameter fibostart; did you mean",
		"/fibonacci":                             "n is missing: it must be a number from 0 to 100000",
		"/fibonacci?n=-1":                        "n=-1: must be a number from 0 to 100000",
		"/increment?iterations=10001":            "iterations=10001: must be",
		"/experiment/client?type=Clients&n=1":    "type=Clients: must be one of Client, ClientWithReuseConn, ClientWithKubeResolver",
		"/experiment/client?type=Client&n=10001": "n=10001: must be a number from 1 to 10000",
		"/increment?%zz":                         "cannot be read",
		"/fibonacci/random?iterations=10000&output=true&fibo_start=1&fibo_end=100000": "output=true would return up to 238 MiB, and the limit is 32",
	} {
		got := get(t, at+path)
		var response struct{ Error, Code string }
		if err := json.Unmarshal([]byte(got.body), &response); err != nil {
			t.Errorf("%s: %q is not JSON: %v", path, got.body, err)
		}
		if got.status != 400 || response.Code != "INVALID_ARGUMENT" || !strings.Contains(response.Error, want) {
			t.Errorf("%s answered %d %q, want %q", path, got.status, got.body, want)
		}
	}
	if got := get(t, at+"/fibo"); got.status != 404 || !strings.Contains(got.body, "unknown request GET /fibo: use GET /fibonacci,") {
		t.Errorf("an unknown path answered %d %s", got.status, got.body)
	}
}

// counts returns the samples of a metric, by the values of a label.
func counts(t *testing.T, at, metric, label string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(get(t, at+"/metrics").body))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]float64{}
	for _, m := range families[metric].GetMetric() {
		for _, l := range m.Label {
			if l.GetName() == label {
				by[l.GetValue()] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return by
}

func TestCallMetricsAreExact(t *testing.T) {
	at := serve(t, gateway.Options{
		Model: gateway.Threads, Mode: "headless", Target: target(t, servers(t, &workload.Server{}, &workload.Server{}, &workload.Server{})),
	})
	testkit.Await(t, "three backends are reached", func() bool { return len(get(t, at+"/increment?iterations=6").counted) == 3 })
	if got := ask(t, http.MethodPost, at+"/-/reset"); got.status != 200 {
		t.Errorf("a reset answered %d %s", got.status, got.body)
	}
	// The metrics of the client are not reset.
	all := map[string][2]string{
		"grpc_requests_total": {"mode", "headless"}, "grpc_client_handled_total": {"grpc_code", "OK"},
		"grpc_client_started_total": {"grpc_method", "Compute"}, "grpc_client_handling_seconds": {"grpc_service", "rpclab.v1.Fibonacci"},
	}
	before := map[string]float64{}
	for metric, label := range all {
		before[metric] = counts(t, at, metric, label[0])[label[1]]
	}
	made := map[string]float64{}
	var mu sync.Mutex
	var users sync.WaitGroup
	for range 20 {
		users.Go(func() {
			for id, calls := range get(t, at+"/fibonacci/random?iterations=30").counted {
				mu.Lock()
				n := json.Number(calls[0])
				count, _ := n.Float64()
				made[id] += count
				mu.Unlock()
			}
		})
	}
	users.Wait()
	got := counts(t, at, "grpc_requests_total", "server_name")
	total := 0.0
	for id, n := range got {
		if n != made[id] {
			t.Errorf("%s has %g calls in the metrics and %g in the responses", id, n, made[id])
		}
		total += n
	}
	if total != 600 || len(got) != 3 {
		t.Errorf("the metrics count %v, want 600 calls on 3 backends", got)
	}
	for metric, label := range all {
		if n := counts(t, at, metric, label[0])[label[1]] - before[metric]; n != 600 {
			t.Errorf("%s counts %g calls of %s, want 600", metric, n, label[1])
		}
	}
	if got := ask(t, http.MethodPost, at+"/-/reset"); got.status != 200 {
		t.Errorf("a reset answered %d %s", got.status, got.body)
	}
	// The series stay, so that Prometheus sees them grow from 0.
	if got := counts(t, at, "grpc_requests_total", "server_name"); !maps.Equal(got, map[string]float64{"b0": 0, "b1": 0, "b2": 0}) {
		t.Errorf("after a reset the metrics count %v, want 0 for each backend", got)
	}
	// Prometheus would see no growth of a series that is missing after a reset, and then as large as before.
	for _, metric := range []string{"grpc_client_handled_total", "grpc_client_handling_seconds"} {
		if n := counts(t, at, metric, all[metric][0])[all[metric][1]] - before[metric]; n != 600 {
			t.Errorf("after a reset %s counts %g calls, want 600 as before", metric, n)
		}
	}
	get(t, at+"/increment?iterations=3")
	if got := counts(t, at, "grpc_requests_total", "method")["Counter/Increment"]; got != 3 {
		t.Errorf("after a reset and three calls the metrics count %g", got)
	}
}

func TestAFailedCallEndsTheRequestWithItsCode(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	at := serve(t, gateway.Options{Model: gateway.Async, Target: target(t, unused)})
	got := get(t, at+"/increment?iterations=5")
	if got.status != 503 || !strings.Contains(got.body, `"code":"UNAVAILABLE"`) || !strings.Contains(got.body, "connection refused") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if n := counts(t, at, "grpc_client_handled_total", "grpc_code")["Unavailable"]; n != 1 {
		t.Errorf("the metrics count %g failed calls, want 1, which ended the request", n)
	}
	if got := counts(t, at, "grpc_requests_total", "server_name"); len(got) != 0 {
		t.Errorf("the metrics count answered calls: %v", got)
	}
}

func TestTheSeedDeterminesTheNumbers(t *testing.T) {
	to := target(t, servers(t, &workload.Server{}))
	numbers := func(seed uint64) string {
		at := serve(t, gateway.Options{Model: gateway.Threads, Target: to, Seed: seed})
		return get(t, at+"/fibonacci/random?iterations=20&output=true&fibo_start=1&fibo_end=1000").body
	}
	if a, again, b := numbers(1), numbers(1), numbers(2); a != again || a == b {
		t.Errorf("seed 1 drew\n%s\nand\n%s\nseed 2 drew\n%s", a, again, b)
	}
}

func TestHEADMakesNoCalls(t *testing.T) {
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, servers(t, &workload.Server{}))})
	for _, path := range []string{"/increment", "/fibonacci?n=1", "/fibonacci/random", "/experiment/client?type=Client&n=1"} {
		if got := ask(t, http.MethodHead, at+path); got.status != 404 || len(got.counted) != 0 {
			t.Errorf("HEAD %s answered %d and made calls %v, want 404 and none", path, got.status, got.counted)
		}
	}
}

// unread is a response that no client reads.
type unread struct {
	http.ResponseWriter
	deadline         time.Time
	written, dropped chan struct{}
}

func (u *unread) SetWriteDeadline(at time.Time) error {
	u.deadline = at
	return nil
}

func (u *unread) Write(p []byte) (int, error) {
	close(u.written)
	<-u.dropped
	return len(p), nil
}

func TestAnUnreadAnswerDoesNotBlockOtherRequests(t *testing.T) {
	g, err := gateway.New(gateway.Options{Model: gateway.OneThread, Target: target(t, servers(t, &workload.Server{}))})
	if err != nil {
		t.Fatal(err)
	}
	request := func() *http.Request { return httptest.NewRequestWithContext(t.Context(), "GET", "/increment", nil) }
	first := &unread{ResponseWriter: httptest.NewRecorder(), written: make(chan struct{}), dropped: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() { g.Handler().ServeHTTP(first, request()) })
	<-first.written
	second := httptest.NewRecorder()
	g.Handler().ServeHTTP(second, request())
	if second.Code != 200 {
		t.Errorf("the next request was answered with %d %s", second.Code, second.Body)
	}
	if first.deadline.IsZero() || time.Until(first.deadline) > time.Minute {
		t.Errorf("the write deadline is %s, want within a minute", first.deadline)
	}
	close(first.dropped)
	serving.Wait()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestEveryPathRequiresTheToken(t *testing.T) {
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, "127.0.0.1:1"), Token: "s3cret"})
	for _, path := range []string{"/metrics", "/increment", "/-/ready", "/nope"} {
		for _, fields := range [][]string{nil, {"Authorization", "Bearer s3cre"}, {"Authorization", "s3cret"}} {
			if got := ask(t, http.MethodGet, at+path, fields...); got.status != 401 {
				t.Errorf("%s with %v answered %d, want 401", path, fields, got.status)
			}
		}
	}
	if got := ask(t, http.MethodGet, at+"/-/ready", "Authorization", "Bearer s3cret"); got.status != 200 || !bytes.Equal([]byte(got.body), []byte("ready\n")) {
		t.Errorf("with the token the gateway answered %d %s", got.status, got.body)
	}
}
