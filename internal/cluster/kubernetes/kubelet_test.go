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
	used, err := api.ContainerUsage(t.Context(), "ours", "proxy", []string{"n1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(used) != 1 || used["a"].CPU != time.Second || used["a"].MaxRSS != 7 {
		t.Errorf("the usage is %+v, want 1 s and 7 bytes for pod a", used)
	}
}

func TestContainerUsageErrors(t *testing.T) {
	api := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "nodes \"n1\" is forbidden: User \"u\" cannot get resource \"nodes/proxy\" in API group \"\" at the cluster scope"}`)
	})
	const want = "kubectl auth can-i get nodes --subresource=proxy"
	if _, err := api.ContainerUsage(t.Context(), "ours", "proxy", []string{"n1"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without permission: error %v, want %s", err, want)
	}
	stale := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pods": [{"podRef": {"name": "a", "namespace": "ours"}, "containers": [{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:00Z"}}]}]}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := stale.ContainerUsage(ctx, "ours", "proxy", []string{"n1"}); err == nil {
		t.Error("without a new sample there is no error")
	}
}
