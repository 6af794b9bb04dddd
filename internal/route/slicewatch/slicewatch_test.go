package slicewatch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reply is what the scripted API server says to one request, then the response ends.
type reply struct {
	code int // 0: 200
	body string
}

// run plays a script: one reply a request, then the end. It returns what the
// client asked ("list", "watch 3"), the sets it showed and how often it paused.
func run(t *testing.T, script ...reply) (asked, sets []string, pauses []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("labelSelector") != "kubernetes.io/service-name=greeter" {
			t.Errorf("labelSelector %q", q.Get("labelSelector"))
		}
		what := "list"
		if q.Get("watch") != "" {
			what = "watch " + q.Get("resourceVersion")
		}
		asked = append(asked, what) // requests come one after the other
		n := len(asked)
		if n > len(script) {
			cancel()
			return
		}
		if answer := script[n-1]; answer.code != 0 {
			w.WriteHeader(answer.code)
		}
		_, _ = w.Write([]byte(script[n-1].body))
	}))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	w := Watch{
		API: server.URL, Namespace: "default", Service: "greeter", Client: &http.Client{Transport: transport},
		Pause: func(_ context.Context, d time.Duration) { pauses = append(pauses, d) },
	}
	w.Run(ctx, Observer{
		Set: func(s Set) {
			var ids []string
			for _, e := range s {
				ids = append(ids, e.ID)
			}
			sets = append(sets, strings.Join(ids, " "))
		},
		Failed: func(error) {},
	})
	return asked[:len(script)], sets, pauses
}

// slice is one slice as JSON, its endpoints 127.0.0.n named after n.
func slice(name string, version int, ns ...int) string {
	var es []string
	for _, n := range ns {
		es = append(es, fmt.Sprintf(`{"addresses":["127.0.0.%d"],"conditions":{"ready":true},"targetRef":{"name":"b%d"}}`, n, n))
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":"%d"},"addressType":"IPv4","endpoints":[%s],"ports":[{"name":"grpc","port":50051}]}`,
		name, version, strings.Join(es, ","))
}

func list(version int, items ...string) reply {
	return reply{body: fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[%s]}`, version, strings.Join(items, ","))}
}

func events(lines ...string) reply { return reply{body: strings.Join(lines, "\n")} }

func line(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

const gone = `{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`

func TestHowAWatchGoesOn(t *testing.T) {
	for _, test := range []struct {
		name   string
		script []reply
		asked  []string
		sets   []string
		pauses int
	}{
		{
			"a connection that drops is resumed: no event lost, no second list",
			[]reply{list(3, slice("s1", 2, 1)), events(line("MODIFIED", slice("s1", 4, 1, 2))), events(line("MODIFIED", slice("s1", 5, 2)))},
			[]string{"list", "watch 3", "watch 4"}, []string{"b1", "b1 b2", "b2"}, 0,
		},
		{
			"a connection that drops within an event is resumed before it",
			[]reply{list(3, slice("s1", 2, 1)), events(line("MODIFIED", slice("s1", 4, 1, 2)), `{"type":"MODI`), events(line("MODIFIED", slice("s1", 5, 2)))},
			[]string{"list", "watch 3", "watch 4"}, []string{"b1", "b1 b2", "b2"}, 0,
		},
		{
			"an expired version, as an event: list anew, at once",
			[]reply{list(3, slice("s1", 2, 1)), events(line("ERROR", gone)), list(9, slice("s2", 9, 2)), events(line("BOOKMARK", slice("", 10)))},
			[]string{"list", "watch 3", "list", "watch 9"}, []string{"b1", "b2"}, 0,
		},
		{
			"an expired version, as a status: list anew, at once",
			[]reply{list(3), {code: 410, body: gone}, list(9, slice("s2", 9, 2)), events(line("BOOKMARK", slice("", 10)))},
			[]string{"list", "watch 3", "list", "watch 9"}, []string{"", "b2"}, 0,
		},
		{
			"a server whose every version has expired is not hammered",
			[]reply{list(3), {code: 410, body: gone}, list(4), {code: 410, body: gone}, list(5)},
			[]string{"list", "watch 3", "list", "watch 4", "list"}, []string{"", "", ""}, 1,
		},
		{
			"a bookmark moves the version and shows nothing",
			[]reply{list(3, slice("s1", 2, 1)), events(line("BOOKMARK", slice("", 8))), events(line("BOOKMARK", slice("", 9)))},
			[]string{"list", "watch 3", "watch 8"}, []string{"b1"}, 0,
		},
		{
			"slices add up, one is deleted, one becomes empty",
			[]reply{list(3, slice("s1", 2, 1, 2), slice("s2", 3, 3)), events(
				line("ADDED", slice("s3", 4, 4)), line("DELETED", slice("s2", 5, 3)), line("MODIFIED", slice("s1", 6)), line("DELETED", slice("s3", 7, 4)))},
			[]string{"list", "watch 3"}, []string{"b1 b2 b3", "b1 b2 b3 b4", "b1 b2 b4", "b4", ""}, 0,
		},
		{
			"a server that fails is asked again, with pauses",
			[]reply{{code: 500}, {code: 503, body: "<html>"}, list(3, slice("s1", 2, 1)), {code: 500}, events(line("BOOKMARK", slice("", 4)))},
			[]string{"list", "list", "list", "watch 3", "watch 3"}, []string{"b1"}, 3,
		},
		{
			"watches that end at once and empty are spaced",
			[]reply{list(3), {}, {}, events(line("BOOKMARK", slice("", 4)))},
			[]string{"list", "watch 3", "watch 3", "watch 3"}, []string{""}, 2,
		},
		{
			"an event of a kind we do not know is a failure, from which the watch is resumed",
			[]reply{list(3), events(line("RENAMED", slice("s1", 4))), events(line("ADDED", slice("s1", 4, 1)))},
			[]string{"list", "watch 3", "watch 3"}, []string{"", "b1"}, 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked, sets, pauses := run(t, test.script...)
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.sets, sets); diff != "" {
				t.Errorf("sets (-want +got):\n%s", diff)
			}
			if len(pauses) != test.pauses {
				t.Errorf("%d pauses, want %d", len(pauses), test.pauses)
			}
		})
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(list(1).body))
			return
		}
		_ = http.NewResponseController(w).Flush()
		close(held)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watch{API: server.URL, Service: "greeter", Client: &http.Client{Transport: transport}}.Run(ctx, Observer{
			Set: func(Set) {}, Failed: func(err error) { t.Error(err) },
		})
	}()
	<-held
	cancel()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the watch outlives its context")
	}
}
