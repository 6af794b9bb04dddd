package kubernetes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/testkit"
)

var testScope = objectScope{namespace: "rpclab-r1", id: "r1", image: "rpclab:v1", architecture: "amd64"}

// document prints objects as one YAML file.
func document(t *testing.T, objects ...object) string {
	t.Helper()
	var parts []string
	for _, printed := range objects {
		kind, _, err := kindOf(printed)
		if err != nil {
			t.Fatal(err)
		}
		printed.GetObjectKind().SetGroupVersionKind(kind)
		text, err := yaml.Marshal(printed)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "---\n")
}

func TestObjectsOfARun(t *testing.T) {
	spec := cluster.Spec{
		Name: "greeter", Args: []string{"--delay", "5ms"}, Replicas: 3, Drain: 2 * time.Second, CPUs: 1, Memory: 3 << 29,
		Env: []string{"JDK_JAVA_OPTIONS=-Xmx67108864"},
	}
	callers := cluster.CallerSpec{Name: "caller", Count: 2, Args: []string{"caller"}, Sidecar: []string{"infrastructure"}, Watches: true}
	testkit.Golden(t, "shared-objects.yaml", document(t, sharedObjects(testScope, "token")...))
	testkit.Golden(t, "reaper.yaml", document(t, reaperObjects(testScope)...))
	testkit.Golden(t, "backends.yaml", document(t, backendObjects(t, spec)...))
	testkit.Golden(t, "callers.yaml", document(t, callerJob(testScope, "caller-2", callers)))
}

// backendObjects are the objects of a deployment.
func backendObjects(t *testing.T, spec cluster.Spec) []object {
	t.Helper()
	template, err := backendPods(testScope, "greeter-1", spec)
	if err != nil {
		t.Fatal(err)
	}
	return backends(testScope, "greeter-1", spec, template)
}

func TestObjectsOfAProgram(t *testing.T) {
	testkit.Golden(t, "program.yaml", document(t, backendObjects(t, cluster.Spec{
		Name: "orders", Port: 8080, Replicas: 2, Drain: 1500 * time.Millisecond, CPUs: 0.5, Memory: 256 << 20, NodePort: true,
		Program: &cluster.Program{
			Image: "orders:1.4", Command: []string{"--listen={{.Address}}"}, Env: []string{"NAME={{.ID}}"},
			Files: map[string][]byte{"/etc/tls/tls.crt": []byte("certificate"), "/etc/tls/tls.key": []byte("key")},
			Ready: cluster.Ready{Kind: cluster.ReadyHTTP, Path: "/healthz", TLS: true}, Signal: "INT", Grace: 2 * time.Second,
		},
	})...))
	testkit.Golden(t, "program-with-fault-proxy.yaml", document(t, backendObjects(t, cluster.Spec{
		Name: "orders", Replicas: 2, NodePort: true, FaultProxy: true, ProxyTLS: &faultproxy.TLS{}, Program: &cluster.Program{Image: "orders:1.4"},
	})...))
}

// The kubelet replaces $$ and $(NAME) in arguments and values, and server-side apply refuses a variable twice.
func TestTheTextOfAProgramIsTheSameInPods(t *testing.T) {
	pod, err := programPod(testScope, cluster.Spec{Name: "orders", Port: 9000, Program: &cluster.Program{
		Image: "orders:1", Command: []string{"--match=^x$$", "{{.ID}}$(HOME)"}, Env: []string{"POD_NAME={{.ID}}", "PASSWORD=a$$b=c"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Clone(pod.Containers[0].Args)
	for _, v := range pod.Containers[0].Env {
		got = append(got, v.Name+"="+v.Value)
	}
	want := []string{"--match=^x$$$$", "$(RPCLAB_POD_NAME)$$(HOME)", "RPCLAB_POD_NAME=", "RPCLAB_POD_IP=", "POD_NAME=$(RPCLAB_POD_NAME)", "PASSWORD=a$$$$b=c"}
	if !slices.Equal(got, want) {
		t.Errorf("arguments and variables %q, want %q", got, want)
	}
}

// Kubernetes knows when to pull an image of a registry, whose tag may have moved. One that rpclab loaded is in none.
func TestWhenNodesPullImages(t *testing.T) {
	named := testScope
	named.architecture = ""
	proxied := cluster.Spec{Name: "orders", Replicas: 1, FaultProxy: true, Program: &cluster.Program{Image: "orders:main"}}
	for _, c := range []struct {
		name        string
		scope       objectScope
		server, own corev1.PullPolicy
	}{{"loaded", testScope, "", corev1.PullIfNotPresent}, {"named", named, "", ""}} {
		pod, err := programPod(c.scope, proxied)
		if err != nil {
			t.Fatal(err)
		}
		own := ownServer(c.scope, cluster.Spec{Name: "greeter"}).Containers[0]
		if server, proxy := pod.Containers[0], pod.Containers[1]; server.ImagePullPolicy != c.server || proxy.ImagePullPolicy != c.own || own.ImagePullPolicy != c.own {
			t.Errorf("%s: the policies are %q, %q and %q, want %q for the user's image, %q for rpclab's", c.name, server.ImagePullPolicy, proxy.ImagePullPolicy, own.ImagePullPolicy, c.server, c.own)
		}
	}
}

// No port of a fault proxy is that of the server.
func TestPortsOfAFaultProxy(t *testing.T) {
	first, other := [4]int{17070, 17071, 17072, 17073}, [4]int{27070, 27071, 27072, 27073}
	for server, want := range map[int][4]int{9000: first, 17069: first, 17070: other, 17073: other, 17074: first} {
		spec := cluster.Spec{Port: server, FaultProxy: true, Program: &cluster.Program{Image: "orders:1"}}
		if got := [4]int{publishedPort(spec), readyPort(spec), agentPort(spec), meterPort(spec)}; got != want {
			t.Errorf("port %d: callers, checks and rpclab use the ports %v, want %v", server, got, want)
		}
	}
}

// A cluster without the feature ContainerStopSignals removes the field.
func TestAStopSignalThatTheClusterIgnores(t *testing.T) {
	ignored := corev1.PodSpec{Containers: []corev1.Container{{}}}
	for signal, want := range map[string]string{"": "", "TERM": "", "INT": "this cluster ignores the stop signal INT"} {
		err := checkStopSignal(&cluster.Program{Signal: signal}, ignored)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("signal %q: %v, want %q", signal, err, want)
		}
	}
}

// A version with another stop signal names the system too: the API server refuses the signal otherwise.
func TestARolloutSetsTheFieldsOfItsProgram(t *testing.T) {
	for signal, want := range map[string]string{"INT": `"os":{"name":"linux"}`, "": `"os":null`} {
		pod, err := programPod(testScope, cluster.Spec{Name: "orders", Port: 8080, Program: &cluster.Program{Image: "orders:2", Signal: signal}})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(programFields(pod)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("signal %q: the patch is %s, %v; want %s", signal, text, err, want)
		}
	}
}

// The rules of https://kubernetes.io/docs/concepts/security/pod-security-standards/ that a pod's
// fields must follow. The API server of the cluster tests enforces all rules.
func TestPodsObeyTheRestrictedStandard(t *testing.T) {
	watcher := callerJob(testScope, "caller-1", cluster.CallerSpec{Name: "caller", Count: 1, Sidecar: []string{"infrastructure"}, Watches: true})
	for name, spec := range map[string]corev1.PodSpec{
		"backend": templateOf(backendObjects(t, cluster.Spec{Name: "greeter", Replicas: 1})[0]),
		"watcher": templateOf(watcher),
		"caller":  templateOf(callerJob(testScope, "caller-1", cluster.CallerSpec{Name: "caller", Count: 1})),
	} {
		if user := spec.SecurityContext; !*user.RunAsNonRoot || user.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *user.RunAsUser == 0 {
			t.Errorf("%s: the security context is %v, want a user other than root and the default seccomp profile", name, user)
		}
		for _, container := range append(spec.InitContainers, spec.Containers...) {
			granted := container.SecurityContext
			if *granted.AllowPrivilegeEscalation || !*granted.ReadOnlyRootFilesystem || len(granted.Capabilities.Add) > 0 || granted.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: container %s has the security context %v, want no privileges", name, container.Name, granted)
			}
			if container.Resources.Requests.Cpu().IsZero() || container.Resources.Requests.Memory().IsZero() {
				t.Errorf("%s: container %s has the requests %v, want CPU and memory for the scheduler", name, container.Name, container.Resources.Requests)
			}
		}
		if mounted, want := *spec.AutomountServiceAccountToken, name == "watcher"; mounted != want {
			t.Errorf("%s: a service account token is mounted: %t, want %t", name, mounted, want)
		}
	}
}

func templateOf(o object) corev1.PodSpec {
	switch typed := o.(type) {
	case *appsv1.Deployment:
		return typed.Spec.Template.Spec
	case *batchv1.Job:
		return typed.Spec.Template.Spec
	}
	return corev1.PodSpec{}
}

func TestKindOfReturnsTheResource(t *testing.T) {
	for want, named := range map[string]object{
		"/v1, Resource=namespaces": &corev1.Namespace{}, "apps/v1, Resource=deployments": &appsv1.Deployment{},
		"coordination.k8s.io/v1, Resource=leases":        &coordinationv1.Lease{},
		"networking.k8s.io/v1, Resource=networkpolicies": &networkingv1.NetworkPolicy{},
	} {
		if _, resource, err := kindOf(named); err != nil || resource.String() != want {
			t.Errorf("%T: %s, error %v; want %s", named, resource, err, want)
		}
	}
}
