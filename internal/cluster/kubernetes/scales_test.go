package kubernetes

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// scalable is an API server with the namespace of a run and the Deployment shop/orders.
type scalable struct {
	replicas int32
	run      corev1.Namespace
}

func (s *scalable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case r.Method == http.MethodGet && path == "/api/v1/namespaces":
		_ = json.NewEncoder(w).Encode(corev1.NamespaceList{Items: []corev1.Namespace{s.run}})
	case r.Method == http.MethodPatch && path == "/api/v1/namespaces/"+s.run.Name:
		_ = json.NewDecoder(r.Body).Decode(&s.run)
		_ = json.NewEncoder(w).Encode(s.run)
	case r.Method == http.MethodPatch && path == "/apis/apps/v1/namespaces/shop/deployments/orders/scale":
		if s.scale(r) {
			_ = json.NewEncoder(w).Encode(appsv1.Deployment{})
			return
		}
		failed := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", "testing value /spec/replicas failed", 0, false)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(failed.Status())
	default:
		http.NotFound(w, r)
	}
}

// scale applies a patch of the scale: a merge patch, or a JSON patch (RFC 6902) of tests and additions. The JSON of a scale
// has no 0, so null is what tests find then.
func (s *scalable) scale(r *http.Request) bool {
	if r.Header.Get("Content-Type") != string(types.JSONPatchType) {
		var patch appsv1.Deployment
		_ = json.NewDecoder(r.Body).Decode(&patch)
		s.replicas = *patch.Spec.Replicas
		return true
	}
	var steps []struct {
		Op, Path string
		Value    *int32
	}
	_ = json.NewDecoder(r.Body).Decode(&steps)
	for _, step := range steps {
		switch {
		case step.Path != "/spec/replicas",
			step.Op == "test" && (step.Value == nil) != (s.replicas == 0),
			step.Op == "test" && step.Value != nil && *step.Value != s.replicas:
			return false
		case step.Op == "add":
			s.replicas = *step.Value
		}
	}
	return true
}

// Only the number that a run has set is the run's to change. Whoever scales the Deployment later keeps that number.
func TestReplicasThatAnotherSetAreNotRestored(t *testing.T) {
	for name, c := range map[string]struct {
		sets  []int // by the run
		later int32 // by another; 0: none
		want  int32
		says  string
	}{
		"scaled":                  {[]int{4}, 0, 2, "Deployment shop/orders: 2 replicas again"},
		"scaled to 0":             {[]int{0}, 0, 2, "Deployment shop/orders: 2 replicas again"},
		"scaled twice":            {[]int{4, 6}, 0, 2, "Deployment shop/orders: 2 replicas again"},
		"and by another":          {[]int{4}, 10, 10, "Deployment shop/orders: left as it is, because someone has scaled it since (it had 2 replicas)"},
		"twice and by another":    {[]int{4, 6}, 10, 10, "Deployment shop/orders: left as it is, because someone has scaled it since (it had 2 replicas)"},
		"and by another clean-up": {[]int{4}, 2, 2, "Deployment shop/orders: 2 replicas again"},
		// The run was killed after it had stored its next number.
		"before the last was set": {[]int{6, 4}, 6, 2, "Deployment shop/orders: 2 replicas again"},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", killed"}[killed], func(t *testing.T) {
				server := &scalable{replicas: 2, run: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "rpclab-r1"}}}
				api := fakeAPI(t, server.ServeHTTP)
				var said []string
				s := scales{api: api, namespace: "rpclab-r1", note: func(text string) { said = append(said, text) }}
				for _, n := range c.sets {
					owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}, Spec: appsv1.DeploymentSpec{Replicas: new(server.replicas)}}
					if err := s.remember(t.Context(), owner, n); err != nil {
						t.Fatal(err)
					}
					if err := api.setReplicas(t.Context(), "shop", "orders", n); err != nil {
						t.Fatal(err)
					}
				}
				if c.later > 0 {
					server.replicas = c.later
				}
				var err error
				if killed {
					said, err = api.restoreAll(t.Context(), &server.run)
				} else {
					_, err = s.undo(t.Context())
				}
				if err != nil || server.replicas != c.want || s.any() == !killed {
					t.Errorf("%d replicas, error %v, numbers remain: %t; want %d", server.replicas, err, s.any(), c.want)
				}
				// An end without a surprise says nothing.
				if quiet := !killed && c.want == 2; !quiet && !slices.Equal(said, []string{c.says}) || quiet && len(said) > 0 {
					t.Errorf("it said %s, want %s", strings.Join(said, "; "), c.says)
				}
			})
		}
	}
}
