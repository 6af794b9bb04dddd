package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"rpclab/internal/cluster"
	"rpclab/internal/workload"
)

// stopGrace is how long a backend may take to finish its calls after server.drain.
const stopGrace = 30 * time.Second

// backends are the objects of a deployment.
func backends(scope objectScope, name string, spec cluster.Spec, template corev1.PodTemplateSpec) []object {
	chosen := map[string]string{labelService: name}
	port := int32(publishedPort(spec))
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	replicas, history := int32(spec.Replicas), int32(0)
	deployment := &appsv1.Deployment{
		ObjectMeta: scope.meta(name, chosen),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, RevisionHistoryLimit: &history,
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}},
			Template: template,
		},
	}
	objects := []object{deployment}
	services := []struct{ name, kind string }{{name, ""}, {headless(name), "headless"}}
	if spec.NodePort {
		services = append(services, struct{ name, kind string }{nodePort(name), "nodeport"})
		objects = append(objects, served(scope.meta(nodePort(name), chosen), chosen, port))
	}
	for _, service := range services {
		spec := corev1.ServiceSpec{Selector: chosen, Ports: []corev1.ServicePort{
			{Name: "grpc", Port: port, TargetPort: intstr.FromInt32(port), Protocol: corev1.ProtocolTCP}}}
		switch service.kind {
		case "headless":
			spec.ClusterIP = corev1.ClusterIPNone
		case "nodeport":
			spec.Type = corev1.ServiceTypeNodePort
		}
		objects = append(objects, &corev1.Service{ObjectMeta: scope.meta(service.name, chosen), Spec: spec})
	}
	return objects
}

// backendPods is the template of pods with rpclab's own server, or with a program of the user's.
func backendPods(scope objectScope, name string, spec cluster.Spec) (template corev1.PodTemplateSpec, err error) {
	role := roleProgram
	if spec.Program == nil {
		role, template.Spec = roleBackend, ownServer(scope, spec)
	} else if template.Spec, err = programPod(scope, spec); err != nil {
		return template, err
	}
	template.Labels = scope.meta("", map[string]string{labelService: name, labelRole: role}).Labels
	inject(spec.Mesh, &template)
	return template, nil
}

// ownServer is a pod with rpclab's own server.
func ownServer(scope objectScope, spec cluster.Spec) corev1.PodSpec {
	server, address := spec.Command, fmt.Sprint("$(POD_IP):", servicePort) // not every language knows brackets around IPv4
	if server == nil {
		server, address = []string{"rpclab", "server"}, podAddress(servicePort)
	}
	program := slices.Concat(server, []string{"--supervised", "--listen", address, "--id", "$(POD_NAME)"},
		spec.Args, []string{"--drain", workload.DurationArg(spec.Drain)})
	main := scope.ownContainer(mainContainer, agentArgs(mainPort, program...))
	main.Resources = resources(spec.CPUs, spec.Memory)
	for _, text := range spec.Env {
		name, value, _ := strings.Cut(text, "=")
		main.Env = append(main.Env, corev1.EnvVar{Name: name, Value: value})
	}
	main.Ports = []corev1.ContainerPort{{Name: "grpc", ContainerPort: servicePort, Protocol: corev1.ProtocolTCP}}
	ready, port := cluster.Ready{}, servicePort
	switch {
	case canCut(spec): // the kubelet, on the node of the pod, is not cut off
		ready, port = cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/"}, readyPort(spec)
		main.Args = append(main.Args, "--ready", podAddress(port))
	case spec.Protocol == "rest":
		ready = cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/healthz"}
	case spec.Protocol == "tcp":
		ready = cluster.Ready{Kind: cluster.ReadyTCP}
	}
	main.ReadinessProbe = readinessProbe(ready, port)
	return podSpec(scope, noPermissions, int64((spec.Drain + stopGrace).Seconds()), main)
}

// nodePort is the name of the service with a port on every node.
func nodePort(name string) string { return name + "-nodeport" }

// headless is the name of the service whose DNS records are the pods.
func headless(name string) string { return name + "-headless" }

// served allows calls from outside to the port of backends, by way of nodes, whose addresses
// are not known. The kubelet of a node may always reach its pods.
func served(meta metav1.ObjectMeta, chosen map[string]string, number int32) *networkingv1.NetworkPolicy {
	port, tcp := intstr.FromInt32(number), corev1.ProtocolTCP
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: chosen},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}}},
	}}
}
