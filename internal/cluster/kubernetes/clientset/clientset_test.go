package clientset

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve returns a clientset of an API server that answers each request by its method and path.
func serve(t *testing.T, answers map[string]string) *Clientset {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	set, err := NewWithClient(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestObjectsAreOfTheirGroupAndNamespace(t *testing.T) {
	set := serve(t, map[string]string{
		"GET /version":      `{"gitVersion": "v1.34.4"}`,
		"GET /api/v1/nodes": `{"items": [{"metadata": {"name": "n1"}}]}`,
		"GET /api/v1/namespaces/shop/pods/orders-0":                              `{"metadata": {"name": "orders-0"}}`,
		"GET /api/v1/namespaces/shop/pods/orders-0/log":                          "ready",
		"PATCH /apis/apps/v1/namespaces/shop/deployments/orders/scale":           `{"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": 2}}`,
		"DELETE /apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/orders": `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`,
		"GET /apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers":      `{"items": []}`,
		"GET /apis/coordination.k8s.io/v1/namespaces/shop/leases/rpclab":         `{"metadata": {"name": "rpclab"}}`,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":            `{"status": {"allowed": true}}`,
		"DELETE /apis/batch/v1/namespaces/shop/jobs/callers":                     `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`,
		"DELETE /api/v1/namespaces/shop/pods":                                    `{"kind": "PodList", "apiVersion": "v1", "items": []}`,
	})
	ctx, core := t.Context(), set.CoreV1()
	if version, err := set.ServerVersion(ctx); err != nil || version.GitVersion != "v1.34.4" {
		t.Errorf("version %q, error %v", version.GitVersion, err)
	}
	if nodes, err := core.Nodes().List(ctx, metav1.ListOptions{}); err != nil || len(nodes.Items) != 1 || nodes.Items[0].Name != "n1" {
		t.Errorf("nodes %v, error %v, want n1", nodes.Items, err)
	}
	if pod, err := core.Pods("shop").Get(ctx, "orders-0", metav1.GetOptions{}); err != nil || pod.Name != "orders-0" {
		t.Errorf("pod %q, error %v", pod.Name, err)
	}
	if log, err := core.Pods("shop").GetLogs("orders-0", &corev1.PodLogOptions{}).DoRaw(ctx); err != nil || string(log) != "ready" {
		t.Errorf("log %q, error %v", log, err)
	}
	if _, err := core.Services("shop").Get(ctx, "orders", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want that there is no such service", err)
	}
	// The API server answers with another kind than that of the patched object.
	if _, err := set.AppsV1().Deployments("shop").Patch(ctx, "orders", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "scale"); err != nil {
		t.Error(err)
	}
	if err := set.DiscoveryV1().EndpointSlices("shop").Delete(ctx, "orders", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := set.AutoscalingV2().HorizontalPodAutoscalers("shop").List(ctx, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := set.CoordinationV1().Leases("shop").Get(ctx, "rpclab", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if err := set.BatchV1().Jobs("shop").Delete(ctx, "callers", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := core.Pods("shop").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
