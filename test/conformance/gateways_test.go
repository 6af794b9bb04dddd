package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/gateway"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// These tests check every gateway against servers/CONTRACT.md.

// eachGateway tests every model of every language that has gateways.
func eachGateway(t *testing.T, test func(t *testing.T, model string, command []string)) {
	for name, command := range map[string]func() []string{
		"go":     func() []string { return []string{testkit.Rpclab(t)} },
		"python": func() []string { return builtNamed(t, "python") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, model := range gateway.Models {
				t.Run(model, func(t *testing.T) {
					t.Parallel()
					test(t, model, append(command(), "gateway", "--model", model))
				})
			}
		})
	}
}

// asking starts a gateway and returns a client of it.
func asking(t *testing.T, command []string, args ...string) askGateway {
	t.Helper()
	g, err := component.Start(t.Context(), component.Spec{
		Name: "gateway", Role: component.Gateway,
		Process: process.Spec{Args: append(append(command, "--supervised", "--listen", "127.0.0.1:0"), args...)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return askGateway{"http://" + g.Address(), transport}
}

type askGateway struct {
	url       string
	transport *http.Transport
}

// gatewayResponse is the response of a gateway.
type gatewayResponse struct {
	status  int
	media   string
	body    string
	counted url.Values // calls by backend
}

func (g askGateway) ask(t *testing.T, method, path string) (a gatewayResponse) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, g.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.transport.RoundTrip(request)
	if err != nil {
		t.Error(err)
		return a
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	a = gatewayResponse{status: answer.StatusCode, media: answer.Header.Get("Content-Type"), body: string(body)}
	if a.counted, err = url.ParseQuery(answer.Header.Get(nethttp.BackendsHeader)); err != nil {
		t.Error(err)
	}
	return a
}

func (g askGateway) get(t *testing.T, path string) gatewayResponse {
	t.Helper()
	return g.ask(t, http.MethodGet, path)
}

func TestGatewaysMakeAndCountTheCallsOfARequest(t *testing.T) {
	eachGateway(t, func(t *testing.T, _ string, command []string) {
		g := asking(t, command, "--target", strings.Join(backends(t, []string{"b1", "b2"}), ","), "--channel", "shared", "--mode", "turns")
		if got := g.get(t, "/-/ready"); got.status != 200 || got.body != "ready\n" {
			t.Errorf("/-/ready answered %d %q", got.status, got.body)
		}
		// The first calls may be made before both connections are open.
		testkit.Await(t, "both backends are reached", func() bool { return len(g.get(t, "/increment?iterations=4").counted) == 2 })
		if got := g.ask(t, http.MethodPost, "/-/reset"); got.status != 200 {
			t.Errorf("a reset answered %d %s", got.status, got.body)
		}
		for path, want := range map[string]string{
			"/fibonacci/random?iterations=10&output=false&fibo_start=800&fibo_end=10000": "calls answered: 10 (b1 5, b2 5)\n",
			"/increment?iterations=8": "calls answered: 8 (b1 4, b2 4)\n",
			"/increment?iteration=2":  "calls answered: 2 (b1 1, b2 1)\n",
		} {
			got := g.get(t, path)
			if got.status != 200 || got.body != want || got.media != "text/plain; charset=utf-8" || got.counted.Get("b1") != got.counted.Get("b2") {
				t.Errorf("%s answered %d %q (%q), backends %v; want %q", path, got.status, got.body, got.media, got.counted, want)
			}
		}
		if got := g.get(t, "/fibonacci?n=100"); !strings.Contains(got.body, `"n":100,"value":"354224848179261915075"`) || got.media != "application/json" || len(got.counted) != 1 {
			t.Errorf("/fibonacci?n=100 answered %s (%q), backends %v", got.body, got.media, got.counted)
		}
		var all struct {
			Calls []struct {
				Server string `json:"server_name"`
				N      int
				Value  string
			}
		}
		got := g.get(t, "/fibonacci/random?iterations=6&output=true&fibo_start=10&fibo_end=10")
		if err := json.Unmarshal([]byte(got.body), &all); err != nil || len(all.Calls) != 6 || all.Calls[0].N != 10 || all.Calls[0].Value != "55" || !strings.HasPrefix(all.Calls[0].Server, "b") {
			t.Errorf("got %q: %v", got.body, err)
		}
		text := g.get(t, "/metrics").body
		for _, want := range []string{"Fibonacci/Compute", "Counter/Increment"} {
			if !strings.Contains(text, fmt.Sprintf(`grpc_requests_total{method=%q,mode="turns",server_name="b1"} `, want)) {
				t.Errorf("the metrics do not contain %s for b1:\n%s", want, text)
			}
		}
		if !strings.Contains(text, `{method="Counter/Increment",mode="turns",server_name="b2"} 5`) {
			t.Errorf("the metrics do not count the 5 increments of b2:\n%s", text)
		}
		g.ask(t, http.MethodPost, "/-/reset")
		if text := g.get(t, "/metrics").body; !strings.Contains(text, `{method="Counter/Increment",mode="turns",server_name="b2"} 0`) {
			t.Errorf("after a reset the metrics are\n%s", text)
		}
	})
}

func TestGatewaysRejectInvalidRequests(t *testing.T) {
	eachGateway(t, func(t *testing.T, _ string, command []string) {
		g := asking(t, command, "--target", backends(t, []string{"b"})[0])
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
			"/fibonacci":                  "n is missing: it must be a number from 0 to 100000",
			"/fibonacci?n=-1":             "n=-1: must be a number from 0 to 100000",
			"/increment?iterations=10001": "iterations=10001: must be",
			"/increment?%zz":              "cannot be read",
			"/fibonacci/random?iterations=10000&output=true&fibo_start=1&fibo_end=100000": "output=true would return up to 238 MiB, and the limit is 32",
		} {
			if got := g.get(t, path); got.status != 400 || !got.says(want, "INVALID_ARGUMENT") {
				t.Errorf("%s answered %d %q of %q, want %q", path, got.status, got.body, got.media, want)
			}
		}
		for _, of := range []string{"GET /fibo", "POST /increment", "GET /-/reset", "HEAD /increment", "HEAD /fibonacci?n=1"} {
			method, path, _ := strings.Cut(of, " ")
			got := g.ask(t, method, path)
			if got.status != 404 || len(got.counted) > 0 || method != http.MethodHead && !got.says("unknown request "+of, "UNIMPLEMENTED") {
				t.Errorf("%s answered %d %q, after calls to %v", of, got.status, got.body, got.counted)
			}
		}
	})
}

// says reports whether the answer is an error with this code and these words.
func (a gatewayResponse) says(words, code string) bool {
	var said struct{ Error, Code string }
	err := json.Unmarshal([]byte(a.body), &said)
	return err == nil && strings.Contains(said.Error, words) && said.Code == code && a.media == "application/json"
}

func TestGatewaysEndARequestAtAFailedCall(t *testing.T) {
	eachGateway(t, func(t *testing.T, _ string, command []string) {
		server := &workload.Server{}
		addr := serving(t, callerKind{}, server).Addr().String()
		server.SetFault(workload.Fault{Code: codes.Unavailable})
		g := asking(t, command, "--target", addr)
		if got := g.get(t, "/increment?iterations=5"); got.status != 503 || !got.says("error loop", "UNAVAILABLE") {
			t.Errorf("got %d %s", got.status, got.body)
		}
		var count strings.Builder
		if server.WriteCount(&count); count.String() != "1\n" {
			t.Errorf("the first call failed, but the gateway made %s calls, want 1", count.String())
		}
		server.SetFault(workload.Fault{})
		if got := g.get(t, "/increment?iterations=5"); got.status != 200 {
			t.Errorf("after recovery the gateway answered %d %s", got.status, got.body)
		}
	})
}

// pairing answers an increment when another increment is in flight.
type pairing struct {
	rpclabv1.UnimplementedCounterServer
	paired chan struct{}
}

func (p pairing) Increment(ctx context.Context, _ *rpclabv1.IncrementRequest) (*rpclabv1.IncrementReply, error) {
	select {
	case p.paired <- struct{}{}:
	case <-p.paired:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &rpclabv1.IncrementReply{Number: 1, ServerName: "b"}, nil
}

// holding counts increments, and delays them until a channel is closed.
type holding struct {
	rpclabv1.UnimplementedCounterServer
	calls   atomic.Int32
	release chan struct{}
}

func (h *holding) Increment(ctx context.Context, _ *rpclabv1.IncrementRequest) (*rpclabv1.IncrementReply, error) {
	h.calls.Add(1)
	select {
	case <-h.release:
		return &rpclabv1.IncrementReply{Number: 1, ServerName: "b"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestGatewaysHandleRequestsLikeTheirModel(t *testing.T) {
	eachGateway(t, func(t *testing.T, model string, command []string) {
		if model == gateway.OneThread {
			server := &workload.Server{}
			addr := serving(t, callerKind{}, server).Addr().String()
			server.SetFault(workload.Fault{Slow: 300 * time.Millisecond})
			began := time.Now()
			twice(t, asking(t, command, "--target", addr))
			if took := time.Since(began); took < 600*time.Millisecond {
				t.Errorf("two requests of 300 ms took %v, want at least 600 ms, one after the other", took)
			}
			return
		}
		listener := listening(t)
		server := grpc.NewServer()
		rpclabv1.RegisterCounterServer(server, pairing{paired: make(chan struct{})})
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		twice(t, asking(t, command, "--target", listener.Addr().String()))
	})
}

// twice makes two requests at once, which must succeed.
func twice(t *testing.T, g askGateway) {
	t.Helper()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got := g.get(t, "/increment"); got.status != 200 {
				t.Errorf("the gateway answered %d %s", got.status, got.body)
			}
		})
	}
	both.Wait()
}

// An arm whose gateway rejected what the gateways of other arms queue would only seem to fail more.
func TestGatewaysQueueFurtherRequests(t *testing.T) {
	eachGateway(t, func(t *testing.T, model string, command []string) {
		if model == gateway.OneThread {
			return
		}
		listener := listening(t)
		server := grpc.NewServer()
		held := &holding{release: make(chan struct{})}
		rpclabv1.RegisterCounterServer(server, held)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		g := asking(t, command, "--target", listener.Addr().String(), "--channel", "shared")
		var all sync.WaitGroup
		for range gateway.MaxRequests + 20 {
			all.Go(func() {
				if got := g.get(t, "/increment"); got.status != 200 {
					t.Errorf("the gateway answered %d %s", got.status, got.body)
				}
			})
		}
		testkit.Await(t, "as many requests as allowed are in progress", func() bool { return held.calls.Load() == gateway.MaxRequests })
		close(held.release)
		all.Wait()
		if n := held.calls.Load(); n != gateway.MaxRequests+20 {
			t.Errorf("the gateway made %d calls, want one for each of %d requests", n, gateway.MaxRequests+20)
		}
	})
}

func TestGatewaysOpenAChannelPerRequest(t *testing.T) {
	eachGateway(t, func(t *testing.T, model string, command []string) {
		for channel, want := range map[string]int32{"shared": 1, "per-request": 3} {
			listener := serving(t, callerKind{}, &workload.Server{})
			args := []string{"--target", listener.Addr().String()}
			if channel != gateway.DefaultChannel(model) {
				args = append(args, "--channel", channel)
			}
			g := asking(t, command, args...)
			for range 3 {
				if got := g.get(t, "/increment?iterations=5"); got.status != 200 {
					t.Errorf("the gateway answered %d %s", got.status, got.body)
				}
				if channel == "per-request" { // gRPC's core closes them in its own time, and shares those that are open
					testkit.Await(t, "its connection is closed", func() bool { return listener.open.Load() == 0 })
				}
			}
			if n := listener.connections.Load(); n != want {
				t.Errorf("%s: three requests used %d connections, want %d", channel, n, want)
			}
		}
	})
}

func TestTheSeedDeterminesTheNumbersOfAGateway(t *testing.T) {
	eachGateway(t, func(t *testing.T, model string, command []string) {
		if model != gateway.Threads {
			return // which is no matter of the model
		}
		addr := backends(t, []string{"b"})[0]
		drawn := func(seed string) string {
			return asking(t, command, "--target", addr, "--seed", seed).get(t, "/fibonacci/random?iterations=20&output=true").body
		}
		if a, again, b := drawn("1"), drawn("1"), drawn("2"); a != again || a == b {
			t.Errorf("seed 1 drew\n%s\nand\n%s\nseed 2 drew\n%s", a, again, b)
		}
	})
}

func TestGatewaysEndWithTheirSupervisor(t *testing.T) {
	eachGateway(t, func(t *testing.T, _ string, command []string) {
		out := &said{}
		p, err := process.Start(process.Spec{Args: append(command, "--supervised", "--listen", "127.0.0.1:0", "--target", free(t)), Stdout: out})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		testkit.Await(t, "it says where it serves", func() bool { return strings.HasPrefix(out.String(), "serving 127.0.0.1:") })
		if err := p.Stdin.(io.Closer).Close(); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if p.Err() == nil || !strings.Contains(p.Err().Error(), "3") {
			t.Errorf("the process ended with %v, want exit status 3", p.Err())
		}
	})
}
