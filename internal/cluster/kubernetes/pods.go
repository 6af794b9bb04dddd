package kubernetes

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// mainPort and sidePort are those of a pod's agents, on its loopback address alone: the
	// kubelet, which brings the lab to them, is inside.
	mainPort = 7070
	sidePort = 7071

	mainContainer = "main"
	sideContainer = "sidecar"

	// nobody is who runs in pods; any number that is not root's would do.
	nobody = 65532

	secretDir = "/run/rpclab"
)

// agentArgs run an agent that stands before a program; before none, it starts what it is
// told to.
func agentArgs(port int, program ...string) []string {
	args := []string{"agent", "--listen", fmt.Sprint("127.0.0.1:", port), "--token-file", secretDir + "/token"}
	if len(program) == 0 {
		return args
	}
	return append(append(args, "--"), program...)
}

// container runs rpclab as the restricted standard of pod security wants it.
func container(name, image string, args []string) corev1.Container {
	no, yes, fromField := false, true, func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
		Env: []corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: fromField("metadata.name")},
			{Name: "POD_IP", ValueFrom: fromField("status.podIP")},
		},
		Resources: needs(0, 0),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "token", MountPath: secretDir, ReadOnly: true},
			{Name: "tmp", MountPath: "/tmp"},
		},
	}
}

// needs are what a container may use: what is not said is asked for in a small measure,
// so that a scheduler has something to go by, and not limited.
func needs(cpus float64, memory uint64) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{},
	}
	if cpus > 0 {
		q := *resource.NewMilliQuantity(int64(math.Round(cpus*1000)), resource.DecimalSI)
		r.Requests[corev1.ResourceCPU], r.Limits[corev1.ResourceCPU] = q, q
	}
	if memory > 0 {
		q := *resource.NewQuantity(int64(memory), resource.BinarySI)
		r.Requests[corev1.ResourceMemory], r.Limits[corev1.ResourceMemory] = q, q
	}
	return r
}

// podSpec is what all pods have in common.
func podSpec(account string, grace int64, containers ...corev1.Container) corev1.PodSpec {
	yes, user, mode, talks := true, int64(nobody), int32(0o440), account != plain
	return corev1.PodSpec{
		ServiceAccountName: account, AutomountServiceAccountToken: &talks,
		EnableServiceLinks:            new(bool),
		TerminationGracePeriodSeconds: &grace,
		Containers:                    containers,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{
			{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretName, DefaultMode: &mode}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	}
}
