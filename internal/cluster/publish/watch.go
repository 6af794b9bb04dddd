package publish

import (
	"encoding/json"
	"net/http"
	"strconv"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// event is one line of a watch (metav1.WatchEvent).
type event struct {
	Type   watch.EventType `json:"type"`
	Object any             `json:"object"`
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

// typed sets the type of a slice, which items of a list do not have.
func typed(s discovery.EndpointSlice) discovery.EndpointSlice {
	s.TypeMeta = metav1.TypeMeta{Kind: "EndpointSlice", APIVersion: "discovery.k8s.io/v1"}
	return s
}
