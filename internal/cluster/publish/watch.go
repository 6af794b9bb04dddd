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

// watch streams changes until the query's timeout, or until client or server end it. Without
// a version it begins with the present slices. It answers a version that is too old with an
// event, not with an HTTP status, as the API server does (Kubernetes API concepts, "410
// Gone").
func (a slicesAPI) watch(w http.ResponseWriter, r *http.Request, q query) {
	w.Header().Set("Content-Type", "application/json")
	s := stream{w: w, query: q, at: q.version}
	if q.version == 0 {
		s.present(a.past.now())
	}
	s.flush() // the header too, so that the client knows that the watch has begun
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

// stream is one watch and the version up to which it has sent changes.
type stream struct {
	w     http.ResponseWriter
	query query
	at    uint64
	err   error // the first write error: the client has disconnected
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

// bookmark sends the version up to which the client has all changes, if it wants bookmarks.
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
