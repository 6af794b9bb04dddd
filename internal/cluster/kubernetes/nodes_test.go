package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"rpclab/internal/cluster"
)

// refusals is an API server whose PodDisruptionBudget refuses so many evictions. It calls last before the last.
func refusals(t *testing.T, n int, last func()) *API {
	t.Helper()
	return fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if want := "/api/v1/namespaces/ours/pods/greeter-1/eviction"; r.Method != http.MethodPost || r.URL.Path != want {
			t.Errorf("the request is %s %s, want POST %s", r.Method, r.URL.Path, want)
		}
		w.Header().Set("Content-Type", "application/json")
		if n--; n >= 0 {
			if n == 0 {
				last()
			}
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"Cannot evict pod as it would violate the pod's disruption budget."}`))
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	})
}

func TestEvictionWaitsForTheBudget(t *testing.T) {
	if err := refusals(t, 1, func() {}).evict(t.Context(), "ours", "greeter-1", func() {}); err != nil {
		t.Error(err)
	}
}

func TestEvictionThatABudgetRefusesToTheEndIsExplained(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	err := refusals(t, 2, end).evict(ctx, "ours", "greeter-1", func() {})
	if err == nil {
		t.Fatal("no error, although the load ended")
	}
	for _, want := range []string{"evict pod greeter-1 before the load ended", "disruption budget", "kubectl get poddisruptionbudgets -n ours"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not contain %q", err, want)
		}
	}
}

// A backend that the API server evicts stops. One that it does not evict, for another reason than a budget, stays.
func TestADrainEvictsBackendsOfTheNode(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		answer string
		stops  bool
	}{
		"evicted":   {http.StatusCreated, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, true},
		"forbidden": {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if !strings.Contains(r.URL.Path, "/pods/") {
					fmt.Fprint(w, "{}")
					return
				}
				asked = append(asked, r.Method+" "+r.URL.Path)
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.answer)
			})
			there, elsewhere := backendPod("greeter-1-a", 1), backendPod("greeter-1-b", 2)
			there.Spec.NodeName, elsewhere.Spec.NodeName = "n1", "n2"
			watcher, _ := watcherOf(there, elsewhere)
			d := &deployment{run: &run{api: api, watcher: watcher, objectScope: testScope, cordons: cordons{api: api, namespace: testScope.namespace}}, name: "greeter-1",
				replicas: map[types.UID]*replica{}}
			for _, pod := range []*corev1.Pod{there, elsewhere} {
				d.replicas[pod.UID] = newReplica(d.run, pod, cluster.Spec{})
			}
			if _, err := d.Drain(t.Context(), 1); (err == nil) != test.stops {
				t.Errorf("error %v", err)
			}
			if want := []string{"POST /api/v1/namespaces/rpclab-r1/pods/greeter-1-a/eviction"}; !slices.Equal(asked, want) {
				t.Errorf("the requests are %q, want %q", asked, want)
			}
			if stops := d.replicas["greeter-1-a"].isStopping(); stops != test.stops {
				t.Errorf("the backend is stopping: %t, want %t", stops, test.stops)
			}
		})
	}
}

// A backend whose eviction must wait works on. What it uses meanwhile counts.
func TestADrainMeasuresABackendWhenItIsEvicted(t *testing.T) {
	server := measuredServer{liveServer{commands: make(chan string, 10)}, &atomic.Int64{}}
	server.used.Store(int64(time.Second))
	refused := false
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.HasSuffix(r.URL.Path, "/eviction"):
			fmt.Fprint(w, "{}")
		case !refused:
			refused = true
			server.used.Store(int64(time.Minute))
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)
		default:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
		}
	})
	pod := backendPod("greeter-1-a", 1)
	pod.Spec.NodeName = "n1"
	watcher, _ := watcherOf(pod)
	d := &deployment{run: &run{api: api, watcher: watcher, objectScope: testScope, cordons: cordons{api: api, namespace: testScope.namespace}}, name: "greeter-1",
		replicas: map[types.UID]*replica{}}
	backend := newReplica(d.run, pod, cluster.Spec{})
	if err := backend.adopt(attach(t, server)); err != nil {
		t.Fatal(err)
	}
	d.replicas[pod.UID] = backend
	if _, err := d.Drain(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if used := lastUsage(backend).CPU; used != time.Minute {
		t.Errorf("it has used %s of CPU time, want 1m", used)
	}
}

// A node that may not be cordoned is not cordoned, so nothing keeps the namespace of the run.
func TestANodeThatMayNotBeCordonedIsForgotten(t *testing.T) {
	var noted string
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodPatch:
		case strings.HasPrefix(r.URL.Path, "/api/v1/nodes/"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		default:
			body, _ := io.ReadAll(r.Body)
			noted = string(body)
		}
		fmt.Fprint(w, "{}")
	})
	c := cordons{api: api, namespace: "ours"}
	if err := c.add(t.Context(), "n1"); err == nil || !strings.HasPrefix(err.Error(), "cordon node n1: ") {
		t.Errorf("error %v, want that n1 was not cordoned", err)
	}
	if c.any() || strings.Contains(noted, "n1") {
		t.Errorf("cordoned are %v, and the namespace has %s; want no node", c.nodes, noted)
	}
}
