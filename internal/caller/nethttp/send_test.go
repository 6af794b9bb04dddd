package nethttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	"rpclab/internal/workload"
)

// get is a job of GET requests of a service.
func get() caller.Job {
	return caller.Job{Timeout: time.Minute, Calls: []service.Spec{{Name: "get", HTTP: "GET", Path: "/", Identity: service.Identity{Header: "X-Pod"}}}}
}

// counted answers requests of each kind of job.
func counted(received *atomic.Int32, next func(w http.ResponseWriter, onConnection int32)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		w.Header().Set(nethttp.BackendsHeader, "a=7&b=3")
		next(w, r.Context().Value(connectionKey{}).(*atomic.Int32).Add(1))
		_, _ = w.Write([]byte(`{"number":1}`))
	})
}

type connectionKey struct{}

func perConnection(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, new(atomic.Int32))
}

func TestACallWhoseRequestWasSentAgainHasFailed(t *testing.T) {
	addressed, secure, perCall := get(), get(), get()
	addressed.Calls[0].Identity = service.Identity{}
	secure.Calls[0].TLS = &service.TLS{Insecure: true}
	perCall.Channels.Mode = caller.PerCall
	for name, test := range map[string]struct {
		job            caller.Job
		failed, served int32
	}{
		"GET":                       {get(), 9, 19},
		"GET, named by its address": {addressed, 9, 19},
		"GET with TLS":              {secure, 9, 19},
		"GET, a channel per call":   {perCall, 0, 10},
		"gateway":                   {caller.Job{Timeout: time.Minute, Workload: fibonacci, Iterations: 10}, 9, 19},
	} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int32
			// The server closes a connection at the second request, without an answer.
			server := httptest.NewUnstartedServer(counted(&received, func(w http.ResponseWriter, onConnection int32) {
				if onConnection == 2 {
					if broken, _, err := w.(http.Hijacker).Hijack(); err == nil {
						broken.Close()
					}
				}
			}))
			server.Config.ConnContext = perConnection
			if test.job.Calls != nil && test.job.Calls[0].TLS != nil {
				server.StartTLS()
			} else {
				server.Start()
			}
			t.Cleanup(server.Close)
			session := callertest.Open(t, nethttp.Caller{}, test.job, caller.Target{URI: "passthrough:///" + server.Listener.Addr().String()})
			m := callertest.Load(t, session, pace.Closed{Users: 1, Calls: 10})
			if m.Calls != 10 || m.Errors["UNAVAILABLE"] != uint64(test.failed) || received.Load() != test.served {
				t.Errorf("%d calls, errors %v, the server received %d requests; want 10 calls, %d UNAVAILABLE, %d requests: %v",
					m.Calls, m.Errors, received.Load(), test.failed, test.served, m.Samples)
			}
			if want := "Go's HTTP client sent the request again"; test.failed > 0 && !strings.Contains(fmt.Sprint(m.Samples), want) {
				t.Errorf("the errors are %v, want %q", m.Samples, want)
			}
		})
	}
}

// brokenOnce is a connection whose second write fails before a byte is sent.
type brokenOnce struct {
	net.Conn
	writes int
}

func (b *brokenOnce) Write(data []byte) (int, error) {
	if b.writes++; b.writes == 2 {
		return 0, syscall.EPIPE
	}
	return b.Conn.Write(data)
}

func TestARequestOfWhichNothingWasSentIsNoFailedCall(t *testing.T) {
	for name, job := range map[string]caller.Job{
		"GET":  get(),
		"REST": {Timeout: time.Minute, Workload: workload.Spec{Increase: &workload.Increase{}}, REST: true},
	} {
		var received atomic.Int32
		server := httptest.NewUnstartedServer(counted(&received, func(http.ResponseWriter, int32) {}))
		server.Config.ConnContext = perConnection
		server.Start()
		t.Cleanup(server.Close)
		first := true
		session := callertest.Open(t, nethttp.Caller{}, job, caller.Target{
			URI: "passthrough:///" + server.Listener.Addr().String(),
			Dial: func(_ context.Context, addr string) (net.Conn, error) {
				opened, err := net.Dial("tcp", addr)
				if !first || err != nil {
					return opened, err
				}
				first = false
				return &brokenOnce{Conn: opened}, nil
			},
		})
		m := callertest.Load(t, session, pace.Closed{Users: 1, Calls: 10})
		if m.Calls != 10 || m.Errors["UNAVAILABLE"] > 0 || received.Load() != 10 || first {
			t.Errorf("%s: %d calls, errors %v, the server received %d requests; want 10 calls, no errors, 10 requests: %v",
				name, m.Calls, m.Errors, received.Load(), m.Samples)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }))
	defer server.Close()
	session, err := nethttp.Caller{}.Open(get(), caller.Target{URI: "passthrough:///" + server.Listener.Addr().String()})
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	b.ReportAllocs()
	b.ResetTimer()
	if _, _, err := session.Run(b.Context(), pace.Closed{Users: 1, Calls: uint64(b.N)}, measure.StartSignal{}); err != nil {
		b.Fatal(err)
	}
}
