package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watched runs a watch with a fake clock, calls meanwhile while the watch is open, and returns
// each event as "second TYPE name@version".
func watched(t *testing.T, h *history, path string, meanwhile func()) []string {
	t.Helper()
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		h.changed = make(chan struct{}) // synctest requires a channel of this bubble
		w := &eventRecorder{ResponseRecorder: httptest.NewRecorder(), began: time.Now()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			handler(h).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		}()
		synctest.Wait()
		meanwhile()
		<-done
		lines = w.lines
	})
	return lines
}

// eventRecorder records when each event was written.
type eventRecorder struct {
	*httptest.ResponseRecorder
	began time.Time
	lines []string
}

func (c *eventRecorder) Unwrap() http.ResponseWriter { return c.ResponseRecorder }

func (c *eventRecorder) Write(line []byte) (int, error) {
	var e struct {
		Type   string
		Object struct {
			Metadata metav1.ObjectMeta
			Code     int
			Reason   string
		}
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return 0, err
	}
	what := e.Object.Metadata.Name + "@" + e.Object.Metadata.ResourceVersion
	if e.Object.Code != 0 {
		what = fmt.Sprint(e.Object.Code, " ", e.Object.Reason)
	}
	for key := range e.Object.Metadata.Annotations {
		if key == metav1.InitialEventsAnnotationKey {
			what += " all"
		}
	}
	c.lines = append(c.lines, fmt.Sprintf("%.0fs %s %s", time.Since(c.began).Seconds(), e.Type, what))
	return c.ResponseRecorder.Write(line)
}

func TestWatchEvents(t *testing.T) {
	const timeout = "&timeoutSeconds=130"
	for _, test := range []struct {
		name, query string
		path        string
		size        int
		want        []string
	}{
		{name: "without a version begins with the present slices", query: timeout,
			want: []string{"0s ADDED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "from version 0 begins with the present slices", query: timeout + "&resourceVersion=0",
			want: []string{"0s ADDED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "from the present version has only later events", query: timeout + "&resourceVersion=3",
			want: []string{"0s MODIFIED greeter-1@4"}},
		{name: "from a past version replays", query: timeout + "&resourceVersion=1",
			want: []string{"0s MODIFIED greeter-1@2", "0s MODIFIED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "from a version that is too old fails", query: timeout + "&resourceVersion=1", size: 1,
			want: []string{"0s ERROR 410 Expired"}},
		{name: "from the oldest known version replays", query: timeout + "&resourceVersion=2", size: 1,
			want: []string{"0s MODIFIED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "has bookmarks each minute and at its end", query: timeout + "&resourceVersion=3&allowWatchBookmarks=true",
			want: []string{"0s MODIFIED greeter-1@4", "60s BOOKMARK @4", "120s BOOKMARK @4", "130s BOOKMARK @4"}},
		{name: "marks the end of the initial events", query: "&timeoutSeconds=5&sendInitialEvents=true&allowWatchBookmarks=true",
			want: []string{"0s ADDED greeter-1@3", "0s BOOKMARK @3 all", "0s MODIFIED greeter-1@4", "5s BOOKMARK @4"}},
		{name: "of another service has no event", query: timeout + "&labelSelector=kubernetes.io/service-name%3Dother"},
		{name: "of another slice has no event", query: timeout + "&fieldSelector=metadata.name%3Dgreeter-7"},
		{name: "under the old path", query: timeout, path: groupPath + "/watch/namespaces/default/endpointslices",
			want: []string{"0s ADDED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "of one slice under the old path", query: timeout, path: groupPath + "/watch/namespaces/default/endpointslices/greeter-1",
			want: []string{"0s ADDED greeter-1@3", "0s MODIFIED greeter-1@4"}},
		{name: "without a timeout ends after half an timeout", query: "&resourceVersion=3",
			want: []string{"0s MODIFIED greeter-1@4"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := slicesPath
			if test.path != "" {
				path = test.path
			}
			size := historySize
			if test.size > 0 {
				size = test.size
			}
			h := published(size)
			lines := watched(t, h, path+"?watch=1"+test.query, func() { h.put(snapshot(3, ready("a", 0))) })
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryDropsOldVersions(t *testing.T) {
	h := published(2)
	if _, _, err := h.since(0); err == nil {
		t.Error("the history has version 0, want an error: it holds two changes")
	}
	if changes, _, err := h.since(3); err != nil || len(changes) != 0 {
		t.Errorf("since version 3 the changes are %v, error %v; want none", show(changes), err)
	}
}

// A real server sends changes of its endpoints, and Close ends a watch.
func TestCloseEndsAWatch(t *testing.T) {
	p, endpoints := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, "GET", p.Service().API+slicesPath+"?watch=1&resourceVersion=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	endpoints.Set(ready("late", 7))
	lines := json.NewDecoder(response.Body)
	var e event
	if err := lines.Decode(&e); err != nil || e.Type != "MODIFIED" {
		t.Fatalf("the event is %s (error %v), want MODIFIED", e.Type, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lines.Decode(&e); err == nil {
		t.Errorf("the event %s arrived after Close, want none", e.Type)
	}
	if ctx.Err() != nil {
		t.Error("the watch stayed open after Close")
	}
}
