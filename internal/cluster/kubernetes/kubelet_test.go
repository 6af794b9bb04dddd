package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// asks is a way to an API server that answers so.
func asks(t *testing.T, answer http.HandlerFunc) *API {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	c, err := client.NewForConfigAndClient(config, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	d, err := dynamic.NewForConfigAndClient(config, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return &API{client: c, dynamic: d, config: config}
}

func TestAKubeletIsBelievedOnceItHasLookedAgain(t *testing.T) {
	var asked atomic.Int64
	api := asks(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/proxy/stats/summary" {
			t.Errorf("asked for %s", r.URL)
		}
		n := asked.Add(1) / 2 // it looks at every second question
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
		t.Errorf("used %+v", used)
	}
}

func TestAKubeletThatMayNotBeAskedIsToldWithTheRight(t *testing.T) {
	api := asks(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "nodes \"n1\" is forbidden: User \"u\" cannot get resource \"nodes/proxy\" in API group \"\" at the cluster scope"}`)
	})
	if _, err := api.ContainerUsage(t.Context(), "ours", "proxy", []string{"n1"}); err == nil || !strings.Contains(err.Error(), "kubectl auth can-i get nodes --subresource=proxy") {
		t.Errorf("said %v", err)
	}
	quiet := asks(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pods": [{"podRef": {"name": "a", "namespace": "ours"}, "containers": [{"name": "proxy", "cpu": {"time": "2026-11-22T01:00:00Z"}}]}]}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := quiet.ContainerUsage(ctx, "ours", "proxy", []string{"n1"}); err == nil {
		t.Error("a kubelet that does not look again is believed")
	}
}
