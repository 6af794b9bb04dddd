package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// on returns pods of the node n1.
func on(pods ...string) func() map[string]string {
	return func() map[string]string {
		nodes := map[string]string{}
		for _, pod := range pods {
			nodes[pod] = "n1"
		}
		return nodes
	}
}

func TestContainerUsageWaitsForANewSample(t *testing.T) {
	var requests atomic.Int64
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/proxy/stats/summary" {
			t.Errorf("the request is for %s, want the stats summary of n1", r.URL)
		}
		n := requests.Add(1) / 2 // a new sample at every second request
		fmt.Fprintf(w, `{"pods": [
			{"podRef": {"name": "a", "namespace": "ours"}, "containers": [
				{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:%02dZ", "usageCoreNanoSeconds": %d}, "memory": {"rssBytes": 7}},
				{"name": "main", "cpu": {"time": "2026-11-22T01:00:00Z", "usageCoreNanoSeconds": 99}}]},
			{"podRef": {"name": "b", "namespace": "theirs"}, "containers": [{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:00Z"}}]},
			{"podRef": {"name": "c", "namespace": "ours"}, "containers": [{"name": "proxy"}]}]}`, n, n*1e9)
	})
	used, err := api.ContainerUsage(t.Context(), "ours", "proxy", on("a"))
	if err != nil {
		t.Fatal(err)
	}
	if len(used) != 1 || used["a"].CPU != time.Second || used["a"].MaxRSS != 7 {
		t.Errorf("the usage is %+v, want 1 s and 7 bytes for pod a", used)
	}
}

// A kubelet leaves out a container that it has not measured yet. One of a pod that ends is not awaited.
func TestContainerUsageWaitsForEveryPod(t *testing.T) {
	var requests atomic.Int64
	api := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		n := requests.Add(1)
		if n == 1 {
			fmt.Fprint(w, `{"pods": []}`)
			return
		}
		fmt.Fprintf(w, `{"pods": [{"podRef": {"name": "a", "namespace": "ours"}, "containers": [
			{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:%02dZ", "usageCoreNanoSeconds": %d}}]}]}`, n, n*1e9)
	})
	running := func() map[string]string {
		if requests.Load() < 2 {
			return on("a", "ends")()
		}
		return on("a")()
	}
	used, err := api.ContainerUsage(t.Context(), "ours", "proxy", running)
	if err != nil || len(used) != 1 || used["a"].CPU < 3*time.Second {
		t.Errorf("the usage is %+v, error %v; want that of pod a, as measured after the request", used, err)
	}
}

func TestContainerUsageErrors(t *testing.T) {
	api := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "nodes \"n1\" is forbidden: User \"u\" cannot get resource \"nodes/proxy\" in API group \"\" at the cluster scope"}`)
	})
	const want = "kubectl auth can-i get nodes --subresource=proxy"
	if _, err := api.ContainerUsage(t.Context(), "ours", "proxy", on("a")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without permission: error %v, want %s", err, want)
	}
	stale := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pods": [{"podRef": {"name": "a", "namespace": "ours"}, "containers": [{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:00Z"}}]}]}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := stale.ContainerUsage(ctx, "ours", "proxy", on("a")); err == nil {
		t.Error("without a new sample there is no error")
	}
}
