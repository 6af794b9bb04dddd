package kubernetes

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMissingMeshErrorLinksItsGuide(t *testing.T) {
	meta := func(name, label, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "mesh", Labels: map[string]string{label: value}}
	}
	istiod := func(ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: meta("istiod", "app", "istiod"), Status: appsv1.DeploymentStatus{AvailableReplicas: ready}}
	}
	linkerd := &appsv1.Deployment{ObjectMeta: meta("linkerd-proxy-injector", "linkerd.io/control-plane-component", "proxy-injector"), Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
	for _, test := range []struct {
		name, mesh string
		objects    []object
		want       string // in the error; empty: no error
	}{
		{"not installed", "linkerd", []object{istiod(1)}, "https://linkerd.io/2/getting-started/"},
		{"not installed", "istio", []object{linkerd}, "https://istio.io/latest/docs/setup/getting-started/"},
		{"not ready", "istio", []object{istiod(0)}, "kubectl -n mesh describe deployment istiod"},
		{"without its CNI plugin", "linkerd", []object{linkerd}, "https://linkerd.io/2/features/cni/"},
		{"installed", "linkerd", []object{linkerd, &appsv1.DaemonSet{ObjectMeta: meta("linkerd-cni", "k8s-app", "linkerd-cni")}}, ""},
		{"installed", "istio", []object{istiod(1), &appsv1.DaemonSet{ObjectMeta: meta("istio-cni-node", "k8s-app", "istio-cni-node")}}, ""},
		{"unknown", "osm", nil, "known names: istio, linkerd"},
	} {
		t.Run(test.mesh+" "+test.name, func(t *testing.T) {
			err := checkInstalled(t.Context(), fakeObjects(t, nil, test.objects...).client, test.mesh)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestCheckProxy(t *testing.T) {
	for _, test := range []struct {
		name string
		pod  corev1.PodStatus
		want string // in the error; empty: no error
	}{
		{"ready", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "linkerd-proxy", Ready: true}}}, ""},
		{"ready as a native sidecar", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "linkerd-proxy", Ready: true}}}, ""},
		{"not ready", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "linkerd-proxy"}}}, "is not ready"},
		{"without a proxy", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true}}}, "injected no proxy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkProxy(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "greeter-0"}, Status: test.pod}, "linkerd")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestInjectMarksPodsForEachMesh(t *testing.T) {
	var template corev1.PodTemplateSpec
	inject("istio", &template)
	if template.Labels["sidecar.istio.io/inject"] != "true" {
		t.Errorf("the labels are %v, want sidecar.istio.io/inject: true", template.Labels)
	}
	if _, set := template.Annotations["traffic.sidecar.istio.io/includeInboundPorts"]; set {
		t.Errorf("the annotations of backends are %v, want their inbound connections intercepted", template.Annotations)
	}
	injectCaller("istio", &template)
	if ports, set := template.Annotations["traffic.sidecar.istio.io/includeInboundPorts"]; !set || ports != "" {
		t.Errorf("the annotations of callers are %v, want no inbound port intercepted", template.Annotations)
	}
	template = corev1.PodTemplateSpec{}
	inject("linkerd", &template)
	if template.Annotations["linkerd.io/inject"] != "enabled" {
		t.Errorf("the annotations are %v, want linkerd.io/inject: enabled", template.Annotations)
	}
	template = corev1.PodTemplateSpec{}
	if inject("", &template); len(template.Labels)+len(template.Annotations) != 0 {
		t.Errorf("without a mesh the labels are %v and the annotations %v, want none", template.Labels, template.Annotations)
	}
}
