package kubernetes

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

var here = scope{namespace: "rpclab-r1", run: "r1", image: "rpclab:v1"}

// document is objects as one YAML document.
func document(t *testing.T, objects ...object) string {
	t.Helper()
	var parts []string
	for _, o := range objects {
		kind, _ := kindOf(o)
		o.GetObjectKind().SetGroupVersionKind(kind)
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "---\n")
}

func TestTheObjectsOfARunAreThese(t *testing.T) {
	spec := cluster.Spec{
		Name: "greeter", Args: []string{"--delay", "5ms"}, Replicas: 3, Drain: 2 * time.Second, CPUs: 1, Memory: 3 << 29,
	}
	callers := cluster.CallerSpec{Name: "caller", Count: 2, Args: []string{"caller"}, Sidecar: []string{"stand"}, Watches: true}
	testkit.Golden(t, "foundation.yaml", document(t, sharedObjects(here.namespace, here.run, "token")...))
	testkit.Golden(t, "reaper.yaml", document(t, reaperObjects(here)...))
	testkit.Golden(t, "backends.yaml", document(t, backends(here, "greeter-1", spec)...))
	testkit.Golden(t, "callers.yaml", document(t, callerJob(here, "caller-2", callers)))
}

// The rules of https://kubernetes.io/docs/concepts/security/pod-security-standards/ that a
// pod has to obey by what it says; the API server of the test bed enforces all of them.
func TestPodsAreRestricted(t *testing.T) {
	side := callerJob(here, "caller-1", cluster.CallerSpec{Name: "caller", Count: 1, Sidecar: []string{"stand"}, Watches: true})
	for name, spec := range map[string]corev1.PodSpec{
		"backend": templateOf(backends(here, "greeter-1", cluster.Spec{Name: "greeter", Replicas: 1})[0]),
		"watcher": templateOf(side),
		"member":  templateOf(callerJob(here, "caller-1", cluster.CallerSpec{Name: "caller", Count: 1})),
	} {
		if c := spec.SecurityContext; !*c.RunAsNonRoot || c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *c.RunAsUser == 0 {
			t.Errorf("%s: may run as root, or without seccomp", name)
		}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || len(s.Capabilities.Add) > 0 || s.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: container %s has more rights than it needs", name, c.Name)
			}
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
				t.Errorf("%s: container %s asks for nothing, so no scheduler knows what it takes", name, c.Name)
			}
		}
		if talks := *spec.AutomountServiceAccountToken; talks != (name == "watcher") {
			t.Errorf("%s: has an account's token: %t", name, talks)
		}
	}
}

func templateOf(o object) corev1.PodSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Spec.Template.Spec
	case *batchv1.Job:
		return o.Spec.Template.Spec
	}
	return corev1.PodSpec{}
}
