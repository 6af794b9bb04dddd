package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rpclab/internal/cluster"
)

// copied is a pod template of another namespace, changed to run in the namespace of a run.
type copied struct {
	template corev1.PodTemplateSpec
	port     int      // at which its main container accepts calls
	objects  []object // to which the template refers
	changes  []string // what differs from the original
}

// original returns a Deployment (NAMESPACE/NAME) as the run read it first, so that all trials measure one version of it.
func (r *run) original(ctx context.Context, of string) (*appsv1.Deployment, error) {
	if known, ok := r.originals.Load(of); ok {
		return known.(*appsv1.Deployment), nil
	}
	namespace, name, _ := strings.Cut(of, "/")
	found, err := r.api.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("server.deployment: there is no Deployment %s in the namespace %s: see `kubectl get deployments -n %s`", name, namespace, namespace)
	} else if err != nil {
		return nil, fmt.Errorf("server.deployment: %w", explain(err, namespace))
	}
	r.originals.Store(of, found)
	return found, nil
}

// copyTemplate copies the pod template of a Deployment with its image pull secrets and ConfigMaps. It fails if the pods need
// anything else of their namespace.
func (a *API) copyTemplate(ctx context.Context, scope objectScope, found *appsv1.Deployment, spec cluster.Spec) (c copied, err error) {
	namespace := found.Namespace
	if c, err = adapt(found, spec); err != nil {
		return c, err
	}
	pod := &c.template.Spec
	pulls := pod.ImagePullSecrets
	account := found.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	// Pods have the pull secrets of their service account too. Without permission to read the account, rpclab
	// copies those of the template, and the cluster says which image it cannot get.
	if from, err := a.client.CoreV1().ServiceAccounts(namespace).Get(ctx, account, metav1.GetOptions{}); err == nil && len(pulls) == 0 {
		pulls = from.ImagePullSecrets
	}
	if c.objects, err = a.copyConfigMaps(ctx, namespace, scope, pod); err != nil {
		return c, err
	}
	pod.ImagePullSecrets = nil
	for _, pull := range pulls {
		secret, err := a.copyPullSecret(ctx, scope, namespace, pull.Name)
		if apierrors.IsNotFound(err) { // Kubernetes ignores it, too
			continue
		} else if err != nil {
			return c, fmt.Errorf("server.deployment: %w", err)
		}
		c.objects = append(c.objects, secret)
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: secret.Name})
	}
	return c, nil
}

// adapt changes a copy of a Deployment's template so that it needs nothing but ConfigMaps of its namespace, has no
// permissions and obeys the restricted Pod Security Standard. It fails if that is not possible.
func adapt(original *appsv1.Deployment, spec cluster.Spec) (c copied, err error) {
	template := original.Spec.Template.DeepCopy()
	pod := &template.Spec
	main := mainOf(pod, template.Annotations[noteContainer])
	if c.port, err = containerPort(*main, spec); err != nil {
		return c, err
	}
	_, env, err := inPod(*spec.Program, c.port)
	if err != nil {
		return c, err
	}
	set := setEnv(main, env)
	files, replaced := replaceVolumes(pod, spec.Program.Files)
	if reasons := needs(*pod, replaced); len(reasons) > 0 {
		return c, fmt.Errorf("server.deployment: %s cannot run in the namespace of the run, because its pods need\n  %s\n"+
			"Set server.files to files of this machine for the paths of a Secret, and server.env to values for single variables of the server's container; or measure it where it runs with server.service, or run its image with server.image", spec.Program.Template, strings.Join(reasons, "\n  "))
	}
	if pod.ServiceAccountName != "" && pod.ServiceAccountName != "default" {
		c.changes = append(c.changes, "has no permissions (service account "+pod.ServiceAccountName+")")
	}
	no := false
	pod.ServiceAccountName, pod.DeprecatedServiceAccount, pod.AutomountServiceAccountToken = noPermissions, "", &no
	if len(set) > 0 {
		c.changes = append(c.changes, "has the value of server.env for "+strings.Join(set, ", "))
	}
	for _, volume := range replaced {
		c.changes = append(c.changes, "has files of this machine in place of those in the volume "+volume)
	}
	mountFiles(pod, main, spec.Program.Files, files)
	searchNamesBeside(pod, original.Namespace)
	if main.ReadinessProbe == nil {
		main.ReadinessProbe = readinessProbe(spec.Program.Ready, c.port)
	}
	limits := resources(spec.CPUs, spec.Memory)
	for name, limit := range limits.Limits {
		if main.Resources.Limits == nil {
			main.Resources.Limits = corev1.ResourceList{}
		}
		if main.Resources.Requests == nil {
			main.Resources.Requests = corev1.ResourceList{}
		}
		main.Resources.Limits[name], main.Resources.Requests[name] = limit, limit
	}
	c.changes = append(c.changes, restrict(pod)...)
	c.template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels, Annotations: map[string]string{noteContainer: main.Name}}, Spec: *pod}
	return c, nil
}

// searchNamesBeside lets a pod find services by the names that they have in another namespace, if its own has no such name.
func searchNamesBeside(pod *corev1.PodSpec, namespace string) {
	if pod.DNSPolicy != "" && pod.DNSPolicy != corev1.DNSClusterFirst { // it has names of its own
		return
	}
	if pod.DNSConfig == nil {
		pod.DNSConfig = &corev1.PodDNSConfig{}
	}
	pod.DNSConfig.Searches = append(pod.DNSConfig.Searches, namespace+".svc.cluster.local")
}

// mainOf is the container with the server: the named one, else the first.
func mainOf(pod *corev1.PodSpec, name string) *corev1.Container {
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == name })
	return &pod.Containers[max(i, 0)]
}

// isTCP reports whether a port is one of TCP, which is the default. HTTP/3 uses UDP, often at a port of the same number.
func isTCP(of corev1.Protocol) bool { return of == "" || of == corev1.ProtocolTCP }

// containerPort is the TCP port at which a container accepts calls: the wanted one, or the only one, or the one with the
// name of a protocol.
func containerPort(main corev1.Container, spec cluster.Spec) (int, error) {
	if spec.Port > 0 {
		return spec.Port, nil
	}
	ports := slices.DeleteFunc(slices.Clone(main.Ports), func(p corev1.ContainerPort) bool { return !isTCP(p.Protocol) })
	if len(ports) == 1 {
		return int(ports[0].ContainerPort), nil
	}
	for _, name := range []string{"grpc", "http"} {
		for _, port := range ports {
			if port.Name == name {
				return int(port.ContainerPort), nil
			}
		}
	}
	return 0, fmt.Errorf("server.port: the container %s of %s has %d TCP ports, none with the name grpc or http: set server.port to the one that accepts calls",
		main.Name, spec.Program.Template, len(ports))
}

// needs lists what pods need, besides some volumes, that a namespace of a run does not have, or does not allow.
func needs(pod corev1.PodSpec, replaced []string) (all []string) {
	add := func(unmet bool, format string, args ...any) {
		if unmet {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, from := range c.EnvFrom {
			add(from.SecretRef != nil, "the environment of container %s from a Secret", c.Name)
		}
		for _, env := range c.Env {
			if from := env.ValueFrom; from != nil {
				add(from.SecretKeyRef != nil, "the variable %s of container %s from a Secret", env.Name, c.Name)
			}
		}
		for _, port := range c.Ports {
			add(port.HostPort != 0, "the port %d of the node for container %s", port.HostPort, c.Name)
		}
		for _, setting := range forbiddenInContainer(c.SecurityContext) {
			add(true, "%s for container %s", setting, c.Name)
		}
		if s := c.SecurityContext; s != nil {
			add(s.Privileged != nil && *s.Privileged, "a privileged container, %s", c.Name)
			add(s.RunAsUser != nil && *s.RunAsUser == 0, "the user root in container %s", c.Name)
			if s.Capabilities != nil {
				for _, capability := range s.Capabilities.Add {
					add(capability != "NET_BIND_SERVICE", "the capability %s for container %s", capability, c.Name)
				}
			}
		}
	}
	for _, v := range pod.Volumes {
		at := ""
		if mounts := mountsOf(&pod, v.Name); len(mounts) > 0 {
			at = " at " + mounts[0].MountPath
		}
		add(!isCopied(v) && !slices.Contains(replaced, v.Name), "the volume %s%s: only emptyDir, configMap and downwardAPI are copied, no Secret and no storage", v.Name, at)
	}
	add(pod.HostNetwork || pod.HostPID || pod.HostIPC, "the network or the processes of their node")
	add(len(pod.ResourceClaims) > 0, "resource claims")
	add(pod.SecurityContext != nil && pod.SecurityContext.RunAsUser != nil && *pod.SecurityContext.RunAsUser == 0, "the user root")
	return append(all, forbiddenInPod(pod.SecurityContext)...)
}

// isCopied reports whether the pods of a copy find the contents of a volume.
func isCopied(v corev1.Volume) bool {
	if v.Projected != nil {
		return !slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ConfigMap == nil && s.DownwardAPI == nil })
	}
	return v.EmptyDir != nil || v.ConfigMap != nil || v.DownwardAPI != nil
}

// restrict fills in what the restricted Pod Security Standard requires and a pod leaves open, and returns what that
// changes for its programs.
func restrict(pod *corev1.PodSpec) (changes []string) {
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	yes, no, user := true, false, int64(nobody)
	shared := pod.SecurityContext
	shared.RunAsNonRoot = &yes
	if shared.SeccompProfile == nil {
		shared.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	restricted := false
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			own := c.SecurityContext
			if own.RunAsUser == nil && shared.RunAsUser == nil {
				own.RunAsUser = &user
				changes = append(changes, fmt.Sprintf("runs container %s as user %d", c.Name, user))
			}
			if own.Capabilities == nil {
				own.Capabilities = &corev1.Capabilities{}
			}
			if !slices.Contains(own.Capabilities.Drop, "ALL") {
				own.Capabilities.Drop, restricted = []corev1.Capability{"ALL"}, true
			}
			own.AllowPrivilegeEscalation, own.RunAsNonRoot = &no, nil // the pod's holds
		}
	}
	if restricted {
		changes = append(changes, "has no capabilities")
	}
	return changes
}
