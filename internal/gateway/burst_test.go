package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestModelsDetermineConcurrencyAndChannels(t *testing.T) {
	for model, want := range map[string]struct {
		concurrent bool
		channels   int32
	}{
		gateway.OneThread: {false, 1}, gateway.Threads: {true, 1}, gateway.Async: {true, 4},
	} {
		t.Run(model, func(t *testing.T) {
			const delay = 200 * time.Millisecond
			server := &workload.Server{Delay: delay}
			addr := servers(t, server)
			var dialled atomic.Int32
			rt := target(t, addr)
			rt.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				dialled.Add(1)
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			}
			at := serve(t, gateway.Options{Model: model, Target: rt, ClusterIP: func() (caller.Target, error) { return target(t, addr), nil }})
			began := time.Now()
			var users sync.WaitGroup
			for range 4 {
				users.Go(func() {
					if got := get(t, at+"/increment?iterations=2"); got.status != 200 {
						t.Errorf("got %d %s", got.status, got.body)
					}
					if got := get(t, at+"/experiment/client?type=ClientWithReuseConn&n=2"); got.status != 200 {
						t.Errorf("got %d %s", got.status, got.body)
					}
				})
			}
			users.Wait()
			if took := time.Since(began); took < 4*delay && !want.concurrent {
				t.Errorf("four requests of %s, one at a time, took %s", delay, took)
			}
			if n := dialled.Load(); n != want.channels {
				t.Errorf("the gateway opened %d connections, want %d", n, want.channels)
			}
			if want.concurrent {
				checkConcurrent(t, server, at+"/increment?iterations=2")
			}
		})
	}
}

// checkConcurrent makes four requests whose first calls have no response, and waits until all calls have
// arrived.
func checkConcurrent(t *testing.T, server *workload.Server, address string) {
	t.Helper()
	var before, now bytes.Buffer
	server.WriteCount(&before)
	began, _ := strconv.Atoi(strings.TrimSpace(before.String()))
	server.SetFault(workload.Fault{Slow: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if response, err := http.DefaultTransport.RoundTrip(request); err == nil {
				response.Body.Close()
				t.Errorf("a call that lasts an hour was answered: %s", response.Status)
			}
		})
	}
	testkit.Await(t, "four requests are in progress", func() bool {
		now.Reset()
		server.WriteCount(&now)
		return strings.TrimSpace(now.String()) == strconv.Itoa(began+4)
	})
	cancel()
	users.Wait()
}

func TestABurstCountsCallsByBackend(t *testing.T) {
	addrs := servers(t, &workload.Server{Delay: 10 * time.Millisecond}, &workload.Server{})
	first, _, _ := strings.Cut(addrs, ",")
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, first),
		ClusterIP: func() (caller.Target, error) { return target(t, first), nil },
		KubeResolver: func(route.UpdateFunc) (caller.Target, error) {
			return caller.Target{}, errors.New("there is no EndpointSlice API")
		},
	})
	for _, kind := range []string{"Client", "ClientWithReuseConn"} {
		var response struct {
			Time  float64
			Count map[string]int `json:"count_per_ip"`
		}
		got := get(t, at+"/experiment/client?type="+kind+"&n=50")
		if err := json.Unmarshal([]byte(got.body), &response); err != nil || response.Count["127.0.0.1"] != 50 || response.Time < 10 {
			t.Errorf("%s answered %s: %v", kind, got.body, err)
		}
	}
	if got := get(t, at+"/?type=ClientWithReuseConn&n=5"); got.status != 200 || got.counted.Get("b0") != "5" {
		t.Errorf("GET / answered %d %s, want 5 calls of b0", got.status, got.body)
	}
	if got := get(t, at+"/experiment/client?type=ClientWithKubeResolver&n=5"); got.status != 400 || !strings.Contains(got.body, "there is no EndpointSlice API") {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestAReusedChannelUsesOneOfSeveralTargets(t *testing.T) {
	addrs := servers(t, &workload.Server{}, &workload.Server{})
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, addrs), ClusterIP: func() (caller.Target, error) {
		return gateway.Target(addrs, settings.PickFirst)
	}})
	for range 3 {
		if got := get(t, at+"/experiment/client?type=ClientWithReuseConn&n=20"); len(got.counted) != 1 {
			t.Errorf("20 calls over one connection reached %v, want one backend", got.counted)
		}
	}
	both := url.Values{}
	testkit.Await(t, "new connections reach both backends", func() bool {
		for id := range get(t, at+"/experiment/client?type=Client&n=5").counted {
			both.Set(id, "")
		}
		return len(both) == 2
	})
}

// slowToConnect returns a route that knows all of these addresses, and connects to the last one when dial allows it.
func slowToConnect(t *testing.T, addrs string, dial func(context.Context)) func(route.UpdateFunc) (caller.Target, error) {
	known := strings.Split(addrs, ",")
	return func(updated route.UpdateFunc) (caller.Target, error) {
		to := target(t, addrs)
		to.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			if addr == known[len(known)-1] {
				dial(ctx)
			}
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
		updated(time.Now(), known)
		return to, nil
	}
}

func TestTheFirstBurstOfAWatchingChannelReachesAllBackendsEqually(t *testing.T) {
	each := []*workload.Server{{}, {}, {}}
	addrs := servers(t, each...)
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, addrs), KubeResolver: slowToConnect(t, addrs, func(ctx context.Context) {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	})})
	got := get(t, at+"/?type=ClientWithKubeResolver&n=30")
	for i, server := range each {
		var made bytes.Buffer
		server.WriteCount(&made)
		if id := "b" + strconv.Itoa(i); got.counted.Get(id) != "10" || strings.TrimSpace(made.String()) != "10" {
			t.Errorf("%s answered %s calls and counts %s, want 10 of 30: %s", id, got.counted.Get(id), made.String(), got.body)
		}
	}
	if started := counts(t, at, "grpc_client_started_total", "grpc_method"); started["SayHello"] != 30 || len(started) != 1 {
		t.Errorf("the gateway counts the calls %v, want 30 of SayHello", started)
	}
}

func TestABackendThatDoesNotConnectDelaysOneBurst(t *testing.T) {
	addrs := servers(t, &workload.Server{}, &workload.Server{})
	at := serve(t, gateway.Options{Model: gateway.Threads, Target: target(t, addrs), KubeResolver: slowToConnect(t, addrs, func(ctx context.Context) { <-ctx.Done() })})
	const bursts = 10
	began := time.Now()
	for range bursts {
		if got := get(t, at+"/?type=ClientWithKubeResolver&n=30"); got.counted.Get("b0") != "30" {
			t.Errorf("got %d %s, want 30 calls of the other backend", got.status, got.body)
		}
	}
	if took := time.Since(began); took > bursts*time.Second/2 {
		t.Errorf("%d bursts took %s, want a wait of a second in the first one only", bursts, took)
	}
}
