package kubernetes

import (
	corev1 "k8s.io/api/core/v1"

	"rpclab/internal/cluster"
)

// addFaultProxy adds a fault proxy to a pod, if the servers have one. An agent runs it, because rpclab's commands and
// keys reach it through standard input. The pod is ready when both containers are.
func addFaultProxy(pod *corev1.PodSpec, image string, spec cluster.Spec) {
	if !hasFaultProxy(spec) {
		return
	}
	program := []string{"rpclab", "fault-proxy", "--listen", podAddress(proxyPort(spec)), "--backend", podAddress(portOf(spec)),
		"--ready", podAddress(readyPort(spec))}
	if spec.ProxyTLS != nil {
		program = append(program, "--tls")
	}
	proxy := container(proxyContainer, image, agentArgs(agentPort(spec), program...))
	proxy.ReadinessProbe = readinessProbe(cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/"}, readyPort(spec))
	user, mode := int64(nobody), int32(0o444) // of the token: a copied template may have another group for files, and no other container mounts it
	proxy.SecurityContext.RunAsUser = &user
	proxy.VolumeMounts = []corev1.VolumeMount{{Name: "rpclab-token", MountPath: secretDir, ReadOnly: true}, {Name: "rpclab-tmp", MountPath: "/tmp"}}
	pod.Containers = append(pod.Containers, proxy)
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: "rpclab-token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretName, DefaultMode: &mode}}},
		corev1.Volume{Name: "rpclab-tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
}
