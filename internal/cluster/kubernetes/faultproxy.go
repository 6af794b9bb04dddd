package kubernetes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// addFaultProxy adds a fault proxy to a pod, if the servers have one. An agent runs it, because rpclab's commands and
// keys reach it through standard input. The pod is ready when both containers are, on nodes that both run on.
func addFaultProxy(pod *corev1.PodSpec, scope objectScope, spec cluster.Spec) {
	if !hasFaultProxy(spec) {
		return
	}
	program := []string{"rpclab", "fault-proxy", "--listen", podAddress(proxyPort(spec)), "--backend", podAddress(portOf(spec)),
		"--ready", podAddress(readyPort(spec))}
	if spec.ProxyTLS != nil {
		program = append(program, "--tls")
	}
	proxy := scope.ownContainer(proxyContainer, agentArgs(agentPort(spec), program...))
	proxy.ReadinessProbe = readinessProbe(cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/"}, readyPort(spec))
	user := int64(nobody)
	proxy.SecurityContext.RunAsUser = &user
	proxy.VolumeMounts = []corev1.VolumeMount{tokenMount, {Name: "rpclab-tmp", MountPath: "/tmp"}}
	pod.Containers = append(pod.Containers, proxy)
	chosen := pod.NodeSelector // of a copied template
	pod.NodeSelector = scope.nodes()
	maps.Copy(pod.NodeSelector, chosen)
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "rpclab-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}

// tokenMount is the token of rpclab's agents in a pod of a user's server.
var tokenMount = corev1.VolumeMount{Name: "rpclab-token", MountPath: secretDir, ReadOnly: true}

// addToken makes the token of agents available to rpclab's own containers in a pod of a user's server. No other
// container mounts it.
func addToken(pod *corev1.PodSpec) {
	mode := int32(0o444) // a copied template may have another group for files
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: tokenMount.Name,
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretName, DefaultMode: &mode}}})
}
