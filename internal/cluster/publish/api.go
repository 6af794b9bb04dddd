package publish

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
)

const groupPath = "/apis/discovery.k8s.io/v1"

var resource = discovery.Resource("endpointslices")

// slicesAPI answers requests from a history.
type slicesAPI struct {
	past *history
	// defaultTimeout is how long a watch without a timeout lasts, bookmarkEvery the longest
	// silence of a watch with bookmarks.
	defaultTimeout, bookmarkEvery time.Duration
}

// handler uses the API server's defaults: a watch ends after half an hour
// (--min-request-timeout) and sends a bookmark every minute.
func handler(past *history) http.Handler {
	return slicesAPI{past, 30 * time.Minute, time.Minute}.routes()
}

func (a slicesAPI) routes() http.Handler {
	mux := http.NewServeMux()
	for _, scope := range []string{"", "/namespaces/{namespace}"} {
		mux.HandleFunc(groupPath+scope+"/endpointslices", a.collection)
		mux.HandleFunc(groupPath+"/watch"+scope+"/endpointslices", a.stream) // the path that is older than ?watch
	}
	mux.HandleFunc(groupPath+"/namespaces/{namespace}/endpointslices/{name}", a.one)
	mux.HandleFunc(groupPath+"/watch/namespaces/{namespace}/endpointslices/{name}", a.stream)
	mux.HandleFunc(groupPath, resources)
	mux.HandleFunc("/version", about)
	for _, path := range []string{"/readyz", "/livez", "/healthz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, resource, "", "", 0, true))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			fail(w, apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method)))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// collection lists, or watches if the query has ?watch.
func (a slicesAPI) collection(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r)
	switch {
	case err != nil:
		fail(w, apierrors.NewBadRequest(err.Error()))
	case q.watch:
		a.watch(w, r, q)
	default:
		a.list(w, q)
	}
}

// stream watches, with or without ?watch.
func (a slicesAPI) stream(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r)
	if err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	a.watch(w, r, q)
}

func (a slicesAPI) list(w http.ResponseWriter, q query) {
	all, now := a.past.now()
	if q.version > now {
		fail(w, apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", q.version, now), 1))
		return
	}
	list := discovery.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{Kind: "EndpointSliceList", APIVersion: "discovery.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(now, 10)},
		Items:    []discovery.EndpointSlice{},
	}
	for _, s := range all {
		if q.matches(s) {
			list.Items = append(list.Items, s)
		}
	}
	write(w, http.StatusOK, list)
}

func (a slicesAPI) one(w http.ResponseWriter, r *http.Request) {
	all, _ := a.past.now()
	for _, s := range all {
		if s.Namespace == r.PathValue("namespace") && s.Name == r.PathValue("name") {
			write(w, http.StatusOK, typed(s))
			return
		}
	}
	fail(w, apierrors.NewNotFound(resource, r.PathValue("name")))
}

func resources(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: "discovery.k8s.io/v1",
		APIResources: []metav1.APIResource{{
			Name: "endpointslices", SingularName: "endpointslice", Namespaced: true,
			Kind: "EndpointSlice", Verbs: metav1.Verbs{"get", "list", "watch"},
		}},
	})
}

// about returns the Kubernetes release of this API.
func about(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, version.Info{
		Major: "1", Minor: "34", GitVersion: "v1.34.4+rpclab", GoVersion: runtime.Version(),
		Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	})
}

// status is the document that the API server sends for an error.
func status(err *apierrors.StatusError) metav1.Status {
	s := err.Status()
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return s
}

func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	write(w, int(err.ErrStatus.Code), status(err))
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only when the client is gone
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
