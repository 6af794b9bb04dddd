package kubernetes

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"rpclab/internal/cluster"
)

const (
	// servicePort is the port of every backend.
	servicePort = 50051

	// mainPort and sidePort are the ports of a pod's agents on its loopback address, which
	// port forwarding by the kubelet reaches.
	mainPort = 7070
	sidePort = 7071

	mainContainer  = "main"
	sideContainer  = "sidecar"
	proxyContainer = "fault-proxy" // before the server of a user

	// nobody is the user in pods; any other than root would do.
	nobody = 65532

	secretDir = "/run/rpclab"
)

// agentArgs are the arguments of an agent that runs a program; without one, the agent starts
// the program that its stream names.
func agentArgs(port int, program ...string) []string {
	args := []string{"agent", "--listen", fmt.Sprint("127.0.0.1:", port), "--token-file", secretDir + "/token"}
	if len(program) == 0 {
		return args
	}
	return append(append(args, "--"), program...)
}

// podAddress is a port of the pod's own address, for programs in Go. The kubelet inserts the address, IPv4 or IPv6, and Go
// accepts brackets around both.
func podAddress(port int) string { return fmt.Sprintf("[$(POD_IP)]:%d", port) }

// ownContainer runs rpclab. Its image that rpclab loaded into the nodes is in no registry.
func (s objectScope) ownContainer(name string, args []string) corev1.Container {
	c := container(name, s.image, args)
	if s.architecture != "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
	}
	return c
}

// container runs an image by the restricted Pod Security Standard. Kubernetes pulls the image if a node lacks it, or
// always if it has no tag or the tag latest.
func container(name, image string, args []string) corev1.Container {
	no, yes := false, true
	return corev1.Container{
		Name: name, Image: image, Args: args,
		Env:       podFields(""),
		Resources: resources(0, 0),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "token", MountPath: secretDir, ReadOnly: true},
			tmpMount,
		},
	}
}

// tmpMount and tmpVolume are the directory of a pod that everyone may write to.
var (
	tmpMount  = corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"}
	tmpVolume = corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
)

// podFields are the variables with the name and the address of a pod, whose names begin with a prefix.
func podFields(prefix string) []corev1.EnvVar {
	from := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	return []corev1.EnvVar{{Name: prefix + "POD_NAME", ValueFrom: from("metadata.name")}, {Name: prefix + "POD_IP", ValueFrom: from("status.podIP")}}
}

// resources are the requests and limits of a container. Without limits the requests are
// small, for the scheduler.
func resources(cpus float64, memory uint64) corev1.ResourceRequirements {
	required := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{},
	}
	if cpus > 0 {
		quantity := *resource.NewMilliQuantity(int64(math.Round(cpus*1000)), resource.DecimalSI)
		required.Requests[corev1.ResourceCPU], required.Limits[corev1.ResourceCPU] = quantity, quantity
	}
	if memory > 0 {
		quantity := *resource.NewQuantity(int64(memory), resource.BinarySI)
		required.Requests[corev1.ResourceMemory], required.Limits[corev1.ResourceMemory] = quantity, quantity
	}
	return required
}

// readinessProbe is the kubelet's form of a check. A kubelet checks gRPC without TLS only, so it then opens the port.
func readinessProbe(ready cluster.Ready, port int) *corev1.Probe {
	// A second is the shortest period that Kubernetes allows.
	probe := &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1}
	switch {
	case ready.Kind == cluster.ReadyHTTP:
		probe.HTTPGet = &corev1.HTTPGetAction{Path: ready.Path, Port: intstr.FromInt(port)}
		if ready.TLS {
			probe.HTTPGet.Scheme = corev1.URISchemeHTTPS
		}
	case ready.Kind == cluster.ReadyTCP || ready.TLS:
		probe.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt(port)}
	default:
		probe.GRPC = &corev1.GRPCAction{Port: int32(port)}
	}
	return probe
}

// podSpec is the common part of all pods, with a grace period in seconds.
func podSpec(scope objectScope, account string, grace int64, containers ...corev1.Container) corev1.PodSpec {
	yes, user, mode, mountToken := true, int64(nobody), int32(0o440), account != noPermissions
	return corev1.PodSpec{
		ServiceAccountName: account, AutomountServiceAccountToken: &mountToken,
		EnableServiceLinks:            new(bool),
		TerminationGracePeriodSeconds: &grace,
		NodeSelector:                  scope.nodes(),
		Containers:                    containers,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Volumes: []corev1.Volume{
			{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secretName, DefaultMode: &mode}}},
			tmpVolume,
		},
	}
}
