package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"

	"rpclab/internal/cluster"
)

func TestAlternatingCallersKeepTheirPods(t *testing.T) {
	var mu sync.Mutex
	var requests []string // method and object
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.Method+" "+path.Base(r.URL.Path))
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			object, _ := io.ReadAll(r.Body)
			_, _ = w.Write(object)
			return
		}
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`)
	})
	pool := newCallerPool(newRun(api, objectScope{namespace: "ns"}, nil, nil))
	specs := []cluster.CallerSpec{
		{Name: "caller", Count: 1, Args: []string{"caller"}},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Sidecar: []string{"infrastructure"}, Watches: true},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Watches: true},
		{Name: "caller", Count: 2, Args: []string{"caller"}},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Mesh: "istio"},
	}
	start := func(specs ...cluster.CallerSpec) (jobs []string) {
		t.Helper()
		for _, spec := range specs {
			job, err := pool.jobFor(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
		}
		return jobs
	}
	first := start(specs[:4]...)
	if again := start(specs[:4]...); !slices.Equal(first, again) || len(requests) != 4 {
		t.Errorf("the jobs are first %q, then %q, after the requests %q; want the same jobs and 4 requests", first, again, requests)
	}
	start(specs[0], specs[4]) // one job too many: rpclab deletes the least recently used
	if got, want := requests[4:], []string{"DELETE " + first[1], "PATCH caller-5"}; !slices.Equal(got, want) {
		t.Errorf("the requests are %q, want %q", got, want)
	}
}
