package nethttp_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var fibonacci = workload.Spec{Fibonacci: &workload.Fibonacci{From: 800, To: 900}}

func TestRequestsOverHTTP2ShareAConnection(t *testing.T) {
	var versions, opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		versions.Add(int32(r.ProtoMajor))
		fmt.Fprint(w, `{"number":1}`)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for _, test := range []struct {
		http2                 bool
		versions, connections int32
	}{{false, 20, 1}, {true, 40, 1}} {
		versions.Store(0)
		opened.Store(0)
		session, err := nethttp.Caller{}.Open(caller.Job{
			Timeout: time.Minute, Workload: workload.Spec{Increase: &workload.Increase{}}, REST: true, HTTP2: test.http2,
		}, caller.Target{URI: "passthrough:///" + strings.TrimPrefix(server.URL, "http://")})
		if err != nil {
			t.Fatal(err)
		}
		callertest.Load(t, session, pace.Closed{Users: 1, Calls: 20})
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if versions.Load() != test.versions || opened.Load() != test.connections {
			t.Errorf("HTTP/2 %t: the versions of 20 requests add up to %d over %d connections, want %d over %d",
				test.http2, versions.Load(), opened.Load(), test.versions, test.connections)
		}
	}
}

// load makes 100 requests of 10 calls each, 4 at a time, and counts the connections.
func load(t *testing.T, channels string, spec workload.Spec, gateway http.HandlerFunc) (measured measure.Measurement, connections int32) {
	t.Helper()
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(gateway)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	session, err := nethttp.Caller{}.Open(caller.Job{
		Channels: caller.Channels{Mode: channels}, Timeout: time.Minute, Workload: spec, Iterations: 10,
	}, caller.Target{URI: "passthrough:///" + strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	measured = callertest.Load(t, session, pace.Closed{Users: 4, Calls: 100})
	return measured, opened.Load()
}

func TestCallsOfAGatewayRequestAreCountedByBackend(t *testing.T) {
	for _, test := range []struct {
		workload       workload.Spec
		channels, want string
		// Users keep their connections, but net/http may dial another before one is free again.
		connections int32
	}{
		{fibonacci, caller.Shared, "/fibonacci/random?fibo_end=900&fibo_start=800&iterations=10", 50},
		{workload.Spec{Increment: &workload.Increment{}}, caller.PerCall, "/increment?iterations=10", 100},
	} {
		got, connections := load(t, test.channels, test.workload, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != test.want {
				t.Errorf("the request is for %s, want %s", r.URL, test.want)
			}
			w.Header().Set(nethttp.BackendsHeader, "a=7&b=3")
		})
		if want := map[string]uint64{"a": 700, "b": 300}; got.Calls != 100 || !maps.Equal(got.Backends, want) {
			t.Errorf("%d requests, backends %v, errors %v; want 100 requests, backends %v", got.Calls, got.Backends, got.Samples, want)
		}
		if connections > test.connections || test.channels == caller.PerCall && connections != test.connections {
			t.Errorf("channel %s: %d connections, want %d (shared: at most)", test.channels, connections, test.connections)
		}
	}
}

func TestAFailedRequestIsCountedByItsCode(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"DATA_LOSS": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(nethttp.BackendsHeader, "a=7&b=2") },
		"RESOURCE_EXHAUSTED": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"code":"RESOURCE_EXHAUSTED","error":"enough"}`)
		},
		"UNIMPLEMENTED": http.NotFound,
		"UNAVAILABLE": func(w http.ResponseWriter, _ *http.Request) {
			if broken, _, err := w.(http.Hijacker).Hijack(); err == nil {
				broken.Close()
			}
		},
	} {
		if m, _ := load(t, caller.Shared, fibonacci, answer); m.Errors[want] != 100 || len(m.Backends) != 0 {
			t.Errorf("errors %v %v, want 100 of %s", m.Errors, m.Samples, want)
		}
	}
}
