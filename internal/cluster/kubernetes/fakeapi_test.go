package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"rpclab/internal/cluster/kubernetes/clientset"
)

// fakeAPI starts an API server with a handler.
func fakeAPI(t *testing.T, handle http.HandlerFunc) *API {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	typed, err := clientset.NewWithClient(config, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfigAndClient(config, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return &API{client: typed, dynamic: untyped, config: config}
}

// fakeObjects starts an API server that has some objects. This user may do what allowed reports.
func fakeObjects(t *testing.T, allowed func(authorization.ResourceAttributes) bool, objects ...object) *API {
	t.Helper()
	return fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			var review authorization.SelfSubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			review.Status.Allowed = allowed(*review.Spec.ResourceAttributes)
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			t.Error(err)
		}
		items := []object{}
		for _, o := range objects {
			kind, resource, err := kindOf(o)
			if err != nil {
				t.Fatal(err)
			}
			o.GetObjectKind().SetGroupVersionKind(kind)
			base := strings.TrimSuffix("/apis/"+resource.Group, "/") + "/" + resource.Version + "/"
			if resource.Group == "" {
				base = "/api/v1/"
			}
			scope := base + "namespaces/" + o.GetNamespace() + "/" + resource.Resource
			switch r.URL.Path {
			case scope + "/" + o.GetName():
				_ = json.NewEncoder(w).Encode(o)
				return
			case scope, base + resource.Resource:
				if selector.Matches(labels.Set(o.GetLabels())) {
					items = append(items, o)
				}
			}
		}
		if parts := strings.Split(r.URL.Path, "/"); len(parts)%2 == 0 && strings.HasPrefix(r.URL.Path, "/api/") || len(parts)%2 == 1 && strings.HasPrefix(r.URL.Path, "/apis/") {
			_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
			return
		}
		missing := apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(missing.Status())
	})
}

func TestServerVersion(t *testing.T) {
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			t.Errorf("the request is for %s, want /version", r.URL)
		}
		fmt.Fprint(w, `{"gitVersion": "v1.34.4"}`)
	})
	if version, err := api.client.ServerVersion(t.Context()); err != nil || version.GitVersion != "v1.34.4" {
		t.Errorf("version %q, error %v, want v1.34.4", version.GitVersion, err)
	}
}
