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

func TestCrewsThatTakeTurnsKeepTheirPods(t *testing.T) {
	var mu sync.Mutex
	var did []string
	api := asks(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		did = append(did, r.Method+" "+path.Base(r.URL.Path))
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch {
			object, _ := io.ReadAll(r.Body)
			_, _ = w.Write(object)
			return
		}
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`)
	})
	c := &Cluster{api: api, namespace: "ns", callers: map[string][]*callerPods{}}
	shapes := []cluster.CallerSpec{
		{Name: "caller", Count: 1, Args: []string{"caller"}},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Sidecar: []string{"stand"}, Watches: true},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Watches: true},
		{Name: "caller", Count: 2, Args: []string{"caller"}},
		{Name: "caller", Count: 1, Args: []string{"caller"}, Mesh: "istio"},
	}
	turn := func(shapes ...cluster.CallerSpec) (jobs []string) {
		t.Helper()
		for _, shape := range shapes {
			job, err := c.jobFor(t.Context(), shape)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
		}
		return jobs
	}
	first := turn(shapes[:4]...)
	if again := turn(shapes[:4]...); !slices.Equal(first, again) || len(did) != 4 {
		t.Errorf("first %q, then %q: %q", first, again, did)
	}
	turn(shapes[0], shapes[4]) // one more than are kept: the one goes that waited longest
	if did := did[4:]; !slices.Equal(did, []string{"DELETE " + first[1], "PATCH caller-5"}) {
		t.Errorf("did %q", did)
	}
}
