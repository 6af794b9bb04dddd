package endpointslice

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/testkit"
)

// serve publishes a service with rpclab's own EndpointSlice API.
func serve(t *testing.T) (*cluster.Endpoints, cluster.Service) {
	t.Helper()
	set := cluster.NewEndpoints()
	publisher, err := publish.Serve(set, publish.Names{Service: "greeter", Namespace: "default", Port: 50051}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := publisher.Close(); err != nil {
			t.Error(err)
		}
	})
	return set, publisher.Service()
}

// backend is the endpoint 127.0.0.n with the identity bn.
func backend(n int) cluster.Endpoint {
	return cluster.Endpoint{
		ID: fmt.Sprintf("b%d", n), Serving: true,
		Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(n)}), 50051),
	}
}

// await returns when the watcher knows exactly these usable endpoints.
func await(t *testing.T, w *Watcher, ids ...string) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		state, changed := w.Current()
		var known []string
		for _, e := range state.Usable {
			known = append(known, e.ID)
		}
		if state.Synced && slices.Equal(known, ids) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("the watcher knows %v, want %v", known, ids)
		}
	}
}

func TestWatcherKnowsTheUsableEndpointsOfItsService(t *testing.T) {
	set, service := serve(t)
	set.Set(backend(1))
	w := NewWatcher(service)
	defer w.Close()
	await(t, w, "b1")
	set.Set(backend(2))
	await(t, w, "b1", "b2")
	terminating := backend(1)
	terminating.Terminating = true
	set.Set(terminating)
	await(t, w, "b2")
	set.Remove("b2")
	await(t, w, "b1") // it terminates, but no other backend serves
	set.Remove("b1")
	await(t, w)
	for n := range 150 { // a slice has at most 100
		set.Set(backend(100 + n))
	}
	later := NewWatcher(service)
	defer later.Close()
	for _, watcher := range []*Watcher{w, later} {
		limit := time.After(30 * time.Second)
		for {
			state, changed := watcher.Current()
			if len(state.Usable) == 150 {
				break
			}
			select {
			case <-changed:
			case <-limit:
				t.Fatalf("the watcher knows %d endpoints, want 150", len(state.Usable))
			}
		}
	}
}

// A resolver is updated within 100 ms of a change (docs/method.md). A busy machine may delay most
// changes, but not the quickest quarter; a poll would delay three quarters.
func TestChangeArrivesWithin100Milliseconds(t *testing.T) {
	set, service := serve(t)
	set.Set(backend(1))
	w := NewWatcher(service)
	defer w.Close()
	await(t, w, "b1")
	var took []time.Duration
	for n := 2; n < 23; n++ {
		began := time.Now()
		set.Set(backend(n))
		set.Remove(fmt.Sprintf("b%d", n-1))
		await(t, w, fmt.Sprintf("b%d", n))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if quick := took[len(took)/4]; quick > 100*time.Millisecond {
		t.Errorf("changes arrive after %v, a quarter of them after %v; at most 100 ms is allowed", took, quick)
	}
}

func TestSyncFailsWithTheReasonOfTheAPI(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	defer server.Close()
	w := NewWatcher(cluster.Service{Name: "greeter", Namespace: "default", API: server.URL})
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for state, changed := w.Current(); state.Err == nil; state, changed = w.Current() {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the watcher notes no error")
		}
	}
	cancel()
	_, err := w.Sync(ctx)
	const want, reason = "list EndpointSlices of default/greeter", "out of order"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), reason) {
		t.Errorf("error %v, want %q and %q", err, want, reason)
	}
}

// The API answers the first three requests as scripted, and keeps the next watch open. The
// endpoints stay known while the API fails.
func TestWatcherListsAgainWhenItsVersionHasExpired(t *testing.T) {
	slice := func(id string, n, version int) string {
		return fmt.Sprintf(`{"metadata":{"name":"s","resourceVersion":"%d"},"addressType":"IPv4","ports":[{"name":"grpc","port":50051}],`+
			`"endpoints":[{"addresses":["127.0.0.%d"],"conditions":{"ready":true},"targetRef":{"name":%q}}]}`, version, n, id)
	}
	list := func(version int, item string) string {
		return fmt.Sprintf(`{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`, version, item)
	}
	answers := []string{
		list(3, slice("b1", 1, 2)),
		`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}`,
		list(9, slice("b2", 2, 9)),
	}
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if got := q.Get("labelSelector"); got != "kubernetes.io/service-name=greeter" {
			t.Errorf("the labelSelector is %q, want kubernetes.io/service-name=greeter", got)
		}
		request := "list"
		if q.Get("watch") != "" {
			request = "watch " + q.Get("resourceVersion")
		}
		mu.Lock()
		n := len(requests)
		requests = append(requests, request)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if n < len(answers) {
			_, _ = w.Write([]byte(answers[n]))
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	w := NewWatcher(cluster.Service{Name: "greeter", Namespace: "default", API: server.URL})
	defer w.Close() // ends the open watch
	await(t, w, "b1")
	await(t, w, "b2")
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"list", "watch 3", "list"}; !slices.Equal(requests[:3], want) {
		t.Errorf("the watcher sent %q, want %q first", requests, want)
	}
}

// breakingAPI lists one endpoint. It breaks the connection of the first watch in the middle of an
// event, and lists another endpoint from then on.
func breakingAPI(t *testing.T) (url string, broke func() time.Time) {
	t.Helper()
	const list = `{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"%d"},"items":[{"metadata":{"name":"s","resourceVersion":"%[1]d"},` +
		`"addressType":"IPv4","ports":[{"name":"grpc","port":50051}],"endpoints":[{"addresses":["127.0.0.%[1]d"],"conditions":{"ready":true},"targetRef":{"name":"b%[1]d"}}]}]}`
	var mu sync.Mutex
	var at time.Time
	known := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		mu.Lock()
		broken := !at.IsZero()
		mu.Unlock()
		switch {
		case r.URL.Query().Get("watch") == "":
			endpoint := 1
			if broken {
				endpoint = 2
			}
			_, _ = fmt.Fprintf(w, list, endpoint)
		case broken:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"type":"MODIFIED","object":{"kind":`))
			_ = http.NewResponseController(w).Flush()
			<-known
			mu.Lock()
			at = time.Now()
			mu.Unlock()
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = connection.Close()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() time.Time {
		close(known)
		testkit.Await(t, "the connection to break", func() bool { mu.Lock(); defer mu.Unlock(); return !at.IsZero() })
		mu.Lock()
		defer mu.Unlock()
		return at
	}
}

// The reflector's own back-off would be 800 ms to 1.6 s.
func TestBrokenWatchResumesWithin400Milliseconds(t *testing.T) {
	var took []time.Duration
	for range 5 {
		url, broke := breakingAPI(t)
		w := NewWatcher(cluster.Service{Name: "greeter", Namespace: "default", API: url})
		await(t, w, "b1")
		at := broke()
		await(t, w, "b2")
		took = append(took, time.Since(at))
		w.Close()
	}
	slices.Sort(took)
	t.Logf("endpoints are current again after %v", took)
	if quick := took[len(took)/4]; quick > 400*time.Millisecond {
		t.Errorf("endpoints are current again after %v, a quarter of them after %v; at most 400 ms is allowed", took, quick)
	}
}
