package kubernetes

import (
	"context"
	"net/http"
	"strings"
	"testing"
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
	if err := refusals(t, 1, func() {}).evict(t.Context(), "ours", "greeter-1"); err != nil {
		t.Error(err)
	}
}

func TestEvictionThatABudgetRefusesToTheEndIsExplained(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	err := refusals(t, 2, end).evict(ctx, "ours", "greeter-1")
	if err == nil {
		t.Fatal("no error, although the load ended")
	}
	for _, want := range []string{"evict pod greeter-1 before the load ended", "disruption budget", "kubectl get poddisruptionbudgets -n ours"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not contain %q", err, want)
		}
	}
}
