//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientset "k8s.io/client-go/kubernetes"
)

// The API for HorizontalPodAutoscalers and `kubectl top`. metrics-server itself would be a build of its own:
// the one release in the module registry needs another version of Kubernetes.
const (
	metricsVersion = "metrics.k8s.io/v1beta1"
	metricsPort    = "4443"
)

// serveMetrics serves metrics in the network of the control plane, and writes the objects that register the API.
func serveMetrics(controlPlane *space, ca authority, client clientset.Interface, objects string) error {
	own, err := ca.issue("metrics", "", "metrics.kube-system.svc")
	if err != nil {
		return err
	}
	cert, key, err := own.pem()
	if err != nil {
		return err
	}
	serving, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	trusted, _, err := ca.pem()
	if err != nil {
		return err
	}
	if err := render("metrics.yaml", objects, values{Host: apiHost, Port: metricsPort, Authority: base64.StdEncoding.EncodeToString(trusted)}); err != nil {
		return err
	}
	listener, err := controlPlane.listen(net.JoinHostPort(apiHost, metricsPort))
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{serving}}), metrics{client}.routes())
	}()
	return nil
}

// metrics answers with what the kubelets measured last. They measure every 10 to 15 s.
type metrics struct{ client clientset.Interface }

// usage is an object of a node or pod, as the API has it.
type usage struct {
	metav1.ObjectMeta `json:"metadata"`
	Timestamp         time.Time           `json:"timestamp"`
	Window            string              `json:"window"`
	Usage             corev1.ResourceList `json:"usage,omitempty"`
	Containers        []containerUsage    `json:"containers,omitempty"`
}

type containerUsage struct {
	Name  string              `json:"name"`
	Usage corev1.ResourceList `json:"usage"`
}

// measured is what the summary of a kubelet says of a node or container.
type measured struct {
	Name string
	CPU  struct {
		Time           time.Time
		UsageNanoCores *uint64
	}
	Memory struct{ WorkingSetBytes uint64 }
}

func (m measured) usage() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(*m.CPU.UsageNanoCores), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(m.Memory.WorkingSetBytes), resource.BinarySI),
	}
}

func (m metrics) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/"+metricsVersion, func(w http.ResponseWriter, _ *http.Request) {
		verbs := metav1.Verbs{"get", "list"}
		answer(w, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: metricsVersion,
			APIResources: []metav1.APIResource{
				{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs},
				{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
			}})
	})
	list := func(kind string, of func(*http.Request) ([]usage, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			items, err := of(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			answer(w, map[string]any{"kind": kind, "apiVersion": metricsVersion, "metadata": map[string]any{}, "items": items})
		}
	}
	mux.HandleFunc("GET /apis/"+metricsVersion+"/nodes", list("NodeMetricsList", m.nodes))
	mux.HandleFunc("GET /apis/"+metricsVersion+"/pods", list("PodMetricsList", m.pods))
	mux.HandleFunc("GET /apis/"+metricsVersion+"/namespaces/{namespace}/pods", list("PodMetricsList", m.pods))
	return mux
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // the API server may have gone
}

// summary is what a kubelet measured.
type summary struct {
	Node measured
	Pods []struct {
		PodRef     struct{ Name, Namespace string }
		Containers []measured
	}
}

// each calls do with the summary of every ready node.
func (m metrics) each(ctx context.Context, do func(node corev1.Node, now summary)) error {
	nodes, err := m.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		text, err := m.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy").
			Suffix("stats/summary").Param("only_cpu_and_memory", "true").DoRaw(ctx)
		if err != nil {
			continue // a dead node has no metrics
		}
		var now summary
		if err := json.Unmarshal(text, &now); err != nil {
			return fmt.Errorf("summary of node %s: %w", node.Name, err)
		}
		do(node, now)
	}
	return nil
}

func (m metrics) nodes(r *http.Request) (all []usage, err error) {
	chosen, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	err = m.each(r.Context(), func(node corev1.Node, now summary) {
		if now.Node.CPU.UsageNanoCores != nil && chosen.Matches(labels.Set(node.Labels)) {
			all = append(all, usage{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}, Timestamp: now.Node.CPU.Time, Window: "10s", Usage: now.Node.usage()})
		}
	})
	return all, err
}

// pods leaves out pods with a container that was not measured twice yet.
func (m metrics) pods(r *http.Request) (all []usage, err error) {
	wanted, err := m.client.CoreV1().Pods(r.PathValue("namespace")).List(r.Context(),
		metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector"), ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	known := map[[2]string]map[string]string{} // labels, by namespace and name
	for _, pod := range wanted.Items {
		known[[2]string{pod.Namespace, pod.Name}] = pod.Labels
	}
	err = m.each(r.Context(), func(_ corev1.Node, now summary) {
		for _, pod := range now.Pods {
			podLabels, ok := known[[2]string{pod.PodRef.Namespace, pod.PodRef.Name}]
			found := usage{ObjectMeta: metav1.ObjectMeta{Name: pod.PodRef.Name, Namespace: pod.PodRef.Namespace, Labels: podLabels}, Window: "10s"}
			for _, container := range pod.Containers {
				if ok = ok && container.CPU.UsageNanoCores != nil; ok {
					found.Timestamp = container.CPU.Time
					found.Containers = append(found.Containers, containerUsage{container.Name, container.usage()})
				}
			}
			if ok && found.Containers != nil {
				all = append(all, found)
			}
		}
	})
	return all, err
}
