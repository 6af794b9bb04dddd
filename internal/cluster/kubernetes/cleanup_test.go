package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leftover is an API server with the namespace of one run, in which the run wrote what it changed.
type leftover struct {
	namespace corev1.Namespace
	refuses   string   // the path of an object that the user may not change
	by        string   // the field manager that has cordoned nodes
	gone      []string // paths of objects that no longer exist
	changed   []string
	deleted   bool
}

func (l *leftover) serve(t *testing.T) *API {
	return fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		switch at := r.URL.Path; {
		case at == l.refuses:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
			return
		case slices.Contains(l.gone, at):
			http.NotFound(w, r)
			return
		case r.Method == http.MethodGet && strings.HasPrefix(at, "/api/v1/nodes/"):
			_ = json.NewEncoder(w).Encode(corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:podCIDR":{}}}`)}},
				{Manager: cmp.Or(l.by, manager), FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:unschedulable":{}}}`)}},
			}}})
			return
		case at == "/api/v1/namespaces":
			_ = json.NewEncoder(w).Encode(corev1.NamespaceList{Items: []corev1.Namespace{l.namespace}})
			return
		case r.Method == http.MethodPatch && at == "/api/v1/namespaces/rpclab-r1":
			var patch corev1.Namespace
			if err := json.Unmarshal(body, &patch); err != nil {
				t.Error(err)
			}
			maps.Copy(l.namespace.Annotations, patch.Annotations)
		case r.Method == http.MethodDelete && at == "/api/v1/namespaces/rpclab-r1":
			l.deleted = true
		case r.Method == http.MethodPatch:
			l.changed = append(l.changed, at)
		}
		_, _ = w.Write([]byte("{}"))
	})
}

// What is restored once belongs to the administrator again, who may have cordoned or scaled it meanwhile.
func TestACleanUpRestoresEachThingOnce(t *testing.T) {
	const n1, n2, shop = "/api/v1/nodes/n1", "/api/v1/nodes/n2", "/apis/apps/v1/namespaces/shop/deployments/orders/scale"
	for name, test := range map[string]struct {
		refuses, restored string
		changed           []string // at first, and by the next clean-up
		later             []string
	}{
		"a node stays cordoned":       {n2, "Node n1: uncordoned, Deployment shop/orders: 3 replicas again", []string{n1, shop}, []string{n2}},
		"a Deployment stays as it is": {shop, "Node n1: uncordoned, Node n2: uncordoned", []string{n1, n2}, []string{shop}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &leftover{refuses: test.refuses, namespace: changedByARun()}
			api := l.serve(t)
			all := func(RunNamespace) bool { return true }
			cleaned, err := api.beginClean(t.Context(), all)
			if err == nil || len(cleaned) != 1 || !cleaned[0].Remains || l.deleted {
				t.Fatalf("cleaned %+v (deleted: %t), error %v; want the namespace to remain, and an error", cleaned, l.deleted, err)
			}
			if got := strings.Join(cleaned[0].Restored, ", "); got != test.restored {
				t.Errorf("restored %q, want %q", got, test.restored)
			}
			if !slices.Equal(l.changed, test.changed) {
				t.Errorf("the clean-up changed %q, want %q", l.changed, test.changed)
			}
			l.refuses, l.changed = "", nil
			if cleaned, err := api.beginClean(t.Context(), all); err != nil || cleaned[0].Remains || !l.deleted {
				t.Errorf("the next clean-up: %+v (deleted: %t), error %v", cleaned, l.deleted, err)
			}
			if !slices.Equal(l.changed, test.later) {
				t.Errorf("the next clean-up changed %q, want %q", l.changed, test.later)
			}
		})
	}
}

// changedByARun is the namespace of a run that cordoned two nodes and scaled a Deployment.
func changedByARun() corev1.Namespace {
	return corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "rpclab-r1", Labels: runLabels("r1"), Annotations: map[string]string{noteCordoned: "n1,n2", noteScaled: `{"shop/orders":{"before":3,"set":[4]}}`}, CreationTimestamp: metav1.Now(),
	}}
}

func TestACleanUpRestoresOnlyWhatStillExists(t *testing.T) {
	l := &leftover{gone: []string{"/api/v1/nodes/n1", "/apis/apps/v1/namespaces/shop/deployments/orders/scale"}, namespace: changedByARun()}
	cleaned, err := l.serve(t).beginClean(t.Context(), func(RunNamespace) bool { return true })
	if err != nil || len(cleaned) != 1 || cleaned[0].Remains || !l.deleted {
		t.Fatalf("cleaned %+v (deleted: %t), error %v; want the namespace to be deleted", cleaned, l.deleted, err)
	}
	want := []string{"Node n2: uncordoned", "Deployment shop/orders: not restored, because it no longer exists (it had 3 replicas)"}
	if got := cleaned[0].Restored; !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A run was killed, an administrator has uncordoned its nodes, and later cordoned them for reasons of their own.
func TestACleanUpLeavesNodesThatOthersHaveCordonedSince(t *testing.T) {
	l := &leftover{by: "kubectl-cordon", namespace: changedByARun()}
	cleaned, err := l.serve(t).beginClean(t.Context(), func(RunNamespace) bool { return true })
	if err != nil || len(cleaned) != 1 || !l.deleted {
		t.Fatalf("cleaned %+v (deleted: %t), error %v; want the namespace to be deleted", cleaned, l.deleted, err)
	}
	if want := "Node n1: left cordoned, because kubectl-cordon has cordoned it since"; cleaned[0].Restored[0] != want {
		t.Errorf("it says %q, want %q", cleaned[0].Restored[0], want)
	}
	if slices.ContainsFunc(l.changed, func(at string) bool { return strings.HasPrefix(at, "/api/v1/nodes/") }) {
		t.Errorf("it changed %q, want no node", l.changed)
	}
}

// `rpclab clean` then ends with the exit code of an interrupt.
func TestAnInterruptEndsTheWaitForADeletedNamespace(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	l := &leftover{namespace: changedByARun()}
	err := l.serve(t).awaitRemoval(ctx, "rpclab-r1", func(string) { interrupt() })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "rpclab clean") {
		t.Errorf("error %v, want an interrupt without advice", err)
	}
}

// Without the permission to read leases, "nothing to remove" would be wrong.
func TestACleanUpSaysWhichRunsItCannotJudge(t *testing.T) {
	l := &leftover{refuses: "/apis/coordination.k8s.io/v1/namespaces/rpclab-r1/leases/owner", namespace: changedByARun()}
	api := l.serve(t)
	cleaned, err := api.beginClean(t.Context(), OwnerDead)
	if err == nil || !strings.Contains(err.Error(), "namespace rpclab-r1 remains, because rpclab cannot tell whether its run is alive") || len(cleaned) > 0 || l.deleted {
		t.Errorf("cleaned %+v (deleted: %t), error %v; want the namespace to remain, and why", cleaned, l.deleted, err)
	}
	if _, err := api.beginClean(t.Context(), func(RunNamespace) bool { return false }); err != nil {
		t.Errorf("a namespace that is not asked for: %v", err)
	}
}
