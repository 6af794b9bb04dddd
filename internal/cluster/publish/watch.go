package publish

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// event is one line of a watch (metav1.WatchEvent).
type event struct {
	Type   watch.EventType `json:"type"`
	Object any             `json:"object"`
}

// watch streams changes until the query's timeout, the client or the server ends
// it. Without a version it begins with what is there. A version that is too old
// is answered by an event, not by HTTP's status: so does the API server
// (Kubernetes API concepts, "410 Gone").
func (a slicesAPI) watch(w http.ResponseWriter, r *http.Request, q query) {
	w.Header().Set("Content-Type", "application/json")
	s := stream{w: w, query: q, at: q.version}
	if q.version == 0 {
		s.present(a.past.now())
	}
	s.flush() // the header too, so that the client knows the watch is there
	if q.timeout == 0 {
		q.timeout = a.defaultTimeout
	}
	end := time.NewTimer(q.timeout)
	defer end.Stop()
	bookmark := time.NewTicker(a.bookmarkEvery)
	defer bookmark.Stop()
	for s.err == nil {
		changes, changed, err := a.past.since(s.at)
		if err != nil {
			s.send(watch.Error, status(apierrors.NewResourceExpired(err.Error())))
			s.flush()
			return
		}
		s.follow(changes)
		s.flush()
		select {
		case <-changed:
		case <-bookmark.C:
			s.bookmark(nil)
		case <-end.C:
			s.bookmark(nil)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// stream is one watch: where it writes, and the version up to which it has.
type stream struct {
	w     http.ResponseWriter
	query query
	at    uint64
	err   error // the first one: the client is gone
}

func (s *stream) present(all []discovery.EndpointSlice, version uint64) {
	for _, slice := range all {
		if s.query.matches(slice) {
			s.send(watch.Added, typed(slice))
		}
	}
	s.at = version
	if s.query.initial {
		s.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
}

func (s *stream) follow(changes []change) {
	for _, c := range changes {
		if s.query.matches(c.slice) {
			s.send(c.kind, typed(c.slice))
		}
		s.at = c.version
	}
}

// bookmark tells a client that wants it up to which version it has seen all.
func (s *stream) bookmark(annotations map[string]string) {
	if !s.query.bookmarks {
		return
	}
	mark := typed(discovery.EndpointSlice{})
	mark.ResourceVersion, mark.Annotations = strconv.FormatUint(s.at, 10), annotations
	s.send(watch.Bookmark, mark)
	s.flush()
}

func (s *stream) send(kind watch.EventType, object any) {
	if s.err == nil {
		s.err = json.NewEncoder(s.w).Encode(event{kind, object})
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
}
