package publish

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// query is the parameters of a list or watch (metav1.ListOptions).
type query struct {
	namespace string // empty: all
	labels    labels.Selector
	fields    fields.Selector
	watch     bool
	version   uint64 // 0: any
	timeout   time.Duration
	bookmarks bool
	// initial requests a bookmark after the initial objects.
	initial bool
}

// parse reads the parameters of a request. Its errors are sent to the client.
func parse(r *http.Request) (query, error) {
	q := query{namespace: r.PathValue("namespace")}
	values := r.URL.Query()
	var err error
	if q.labels, err = labels.Parse(values.Get("labelSelector")); err != nil {
		return q, fmt.Errorf("unable to parse labelSelector: %w", err)
	}
	if q.fields, err = fields.ParseSelector(values.Get("fieldSelector")); err != nil {
		return q, fmt.Errorf("unable to parse fieldSelector: %w", err)
	}
	if name := r.PathValue("name"); name != "" {
		q.fields = fields.AndSelectors(q.fields, fields.OneTermEqualSelector("metadata.name", name))
	}
	for _, f := range q.fields.Requirements() {
		if f.Field != "metadata.name" && f.Field != "metadata.namespace" {
			return q, fmt.Errorf("field label not supported: %s", f.Field)
		}
	}
	if text := values.Get("resourceVersion"); text != "" {
		if q.version, err = strconv.ParseUint(text, 10, 64); err != nil {
			return q, fmt.Errorf("invalid resource version %q: it must be a number", text)
		}
	}
	if text := values.Get("timeoutSeconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil || seconds < 0 {
			return q, fmt.Errorf("invalid timeoutSeconds %q: it must be a number of seconds", text)
		}
		q.timeout = time.Duration(seconds) * time.Second
	}
	q.watch, q.bookmarks, q.initial = truth(values["watch"]), truth(values["allowWatchBookmarks"]), truth(values["sendInitialEvents"])
	return q, nil
}

// truth reads a flag as the API server does: present, and neither false nor 0.
func truth(values []string) bool {
	return len(values) > 0 && !strings.EqualFold(values[0], "false") && values[0] != "0"
}

func (q query) matches(s discovery.EndpointSlice) bool {
	return (q.namespace == "" || q.namespace == s.Namespace) &&
		q.labels.Matches(labels.Set(s.Labels)) &&
		q.fields.Matches(fields.Set{"metadata.name": s.Name, "metadata.namespace": s.Namespace})
}
