package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster/kubernetes/clientset"
	"rpclab/internal/suggest"
)

// mesh is how a service mesh injects its proxy into a pod. rpclab finds a mesh by the
// labels of its components, which are the same for all methods of installation.
type mesh struct {
	title    string
	injector string // label of the Deployment that injects proxies into pods
	plugin   string // label of the DaemonSet that redirects the traffic of pods
	proxy    string // name of the container
	// labels and annotations of a pod that request the proxy as a native sidecar (KEP-753): it
	// starts before the program, and does not keep a Job from completing.
	labels, annotations map[string]string
	// outbound are annotations of a pod whose proxy intercepts only the connections that the pod opens.
	outbound           map[string]string
	guide, pluginGuide string
}

var meshes = map[string]mesh{
	"linkerd": {
		title: "Linkerd", injector: "linkerd.io/control-plane-component=proxy-injector", plugin: "k8s-app=linkerd-cni",
		proxy: "linkerd-proxy",
		annotations: map[string]string{
			"linkerd.io/inject": "enabled",
			"config.beta.linkerd.io/proxy-enable-native-sidecar":  "true",
			"config.alpha.linkerd.io/proxy-enable-native-sidecar": "true", // before 2.18
		},
		outbound: map[string]string{"config.linkerd.io/skip-inbound-ports": "1-65535"},
		guide:    "https://linkerd.io/2/getting-started/", pluginGuide: "https://linkerd.io/2/features/cni/",
	},
	"istio": {
		title: "Istio", injector: "app=istiod", plugin: "k8s-app=istio-cni-node",
		proxy:       "istio-proxy",
		labels:      map[string]string{"sidecar.istio.io/inject": "true"},
		annotations: map[string]string{"sidecar.istio.io/nativeSidecar": "true"},
		outbound:    map[string]string{"traffic.sidecar.istio.io/includeInboundPorts": ""},
		guide:       "https://istio.io/latest/docs/setup/getting-started/", pluginGuide: "https://istio.io/latest/docs/setup/additional-setup/cni/",
	},
}

// inject requests the proxy of a mesh in the pods of a template; empty: none.
func inject(name string, template *corev1.PodTemplateSpec) {
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	maps.Copy(template.Labels, meshes[name].labels)
	maps.Copy(template.Annotations, meshes[name].annotations)
}

// injectCaller requests the proxy of a mesh in the pods of callers and gateways. It leaves inbound connections alone:
// those to a gateway come from callers outside of the mesh, which a mesh with strict mTLS would refuse.
func injectCaller(name string, template *corev1.PodTemplateSpec) {
	inject(name, template)
	maps.Copy(template.Annotations, meshes[name].outbound)
}

// checkInstalled fails, before anything is deployed, unless a mesh is installed with its CNI
// plugin. Without the plugin a pod would change its own network, which the restricted Pod
// Security Standard forbids.
func checkInstalled(ctx context.Context, api *clientset.Clientset, name string) error {
	if name == "" { // none is needed
		return nil
	}
	wanted, ok := meshes[name]
	if !ok {
		return fmt.Errorf("no mesh %q%s", name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(meshes))))
	}
	injectors, err := api.AppsV1().Deployments("").List(ctx, metav1.ListOptions{LabelSelector: wanted.injector})
	if err != nil {
		return fmt.Errorf("look for %s: %w", wanted.title, explain(err, ""))
	}
	if len(injectors.Items) == 0 {
		return fmt.Errorf("%s is not installed on this cluster: install it (%s), or leave out its arms", wanted.title, wanted.guide)
	}
	able := slices.ContainsFunc(injectors.Items, func(injector appsv1.Deployment) bool { return injector.Status.AvailableReplicas > 0 })
	if first := injectors.Items[0]; !able {
		return fmt.Errorf("%s is installed on this cluster, but its injector is not ready: see kubectl -n %s describe deployment %s", wanted.title, first.Namespace, first.Name)
	}
	plugins, err := api.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{LabelSelector: wanted.plugin})
	if err != nil {
		return fmt.Errorf("look for the CNI plugin of %s: %w", wanted.title, explain(err, ""))
	}
	if len(plugins.Items) == 0 {
		return fmt.Errorf("%s is installed on this cluster without its CNI plugin, and pods of a run may not change their own network: install the plugin (%s), or leave out its arms", wanted.title, wanted.pluginGuide)
	}
	return nil
}

// checkProxy fails unless a ready pod has the proxy of the mesh that it requests, if any.
func checkProxy(pod *corev1.Pod, name string) error {
	if name == "" {
		return nil
	}
	requested := meshes[name]
	switch status := proxyOf(pod, name); {
	case status == nil:
		return fmt.Errorf("%s injected no proxy into pod %s, which requests it: see the events of its injector, or reinstall it (%s)", requested.title, pod.Name, requested.guide)
	case !status.Ready:
		return fmt.Errorf("the %s proxy of pod %s is not ready: see kubectl -n %s logs %s -c %s", requested.title, pod.Name, pod.Namespace, pod.Name, requested.proxy)
	}
	return nil
}

// proxyOf is the status of the mesh's proxy in a pod; nil: there is none.
func proxyOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.Name == meshes[name].proxy {
			return &status
		}
	}
	return nil
}

// runningProxies are the nodes of the pods in which the mesh's proxy runs, by pod.
func runningProxies(pods []*corev1.Pod, name string) map[string]string {
	nodes := map[string]string{}
	for _, pod := range pods {
		if status := proxyOf(pod, name); status != nil && status.State.Running != nil {
			nodes[pod.Name] = pod.Spec.NodeName
		}
	}
	return nodes
}
