package kube

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// greeter writes a service file for a server of this text, which runs rpclab's own server as a program that
// knows nothing of the run. The call again sends what hello answered.
func greeter(t *testing.T, server string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "hello.yaml")
	text := "service: hello\nserver: {" + server + "}\n" + `calls:
  hello: {method: rpclab.v1.Greeter/SayHello, data: {name: "you {{.Number}}"}, check: 'answer.message.startsWith("Hello, you")'}
  again: {method: rpclab.v1.Greeter/SayHello, data: {name: "{{.said}}"}, from: {said: hello.message}, check: 'answer.message.startsWith("Hello, Hello, you")'}
  bye: {method: rpclab.v1.Greeter/SayHello, data: {name: bye}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// imageServer is a server of an image at another port than the default. Its command is for runs on one machine.
func imageServer(t *testing.T, more string) string {
	t.Helper()
	return fmt.Sprintf(`command: [./nothing], image: %q, port: 9000, args: [server, --listen, "{{.Address}}", --public, --id, "own-{{.ID}}"], resources: {memory: 128Mi}%s`, image(t), more)
}

// checkArms checks that pods of a service answered all calls of all arms, as far as their names can be known.
func checkArms(t *testing.T, d result.Document, pods string) {
	t.Helper()
	for _, arm := range d.Arms {
		if arm.Calls == 0 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d of %d calls failed: %v", arm.Name, arm.Failed(), arm.Calls, arm.Samples)
		}
		for id := range arm.Backends {
			if !regexp.MustCompile(pods).MatchString(id) {
				t.Errorf("arm %s: the backend %s answered, want pods %s", arm.Name, id, pods)
			}
		}
	}
}

// TestAnImageOfTheUserIsMeasured makes flows of two calls in one arm, and a mix of two calls in the other. The image has a
// pull secret.
func TestAnImageOfTheUserIsMeasured(t *testing.T) {
	t.Parallel()
	kubectl(t, "create", "secret", "docker-registry", "orders-registry", "-n", "default", "--docker-server=registry.invalid", "--docker-username=a", "--docker-password=b")
	file := greeter(t, imageServer(t, ", replicas: 2, pull_secret: default/orders-registry"))
	g := begin(t, "channels", permitted(t, "images", "pullsecret", "usage"), "--quick", "--rounds", "1", "--service", file, "--arms", "shared,endpointslice", "--set", "load.burst=50",
		"--set", "arms.endpointslice.workload={flow: [hello, again]}", "--set", "arms.shared.workload={mix: {hello: 80%, bye: 20%}}")
	testkit.AwaitFor(t, patience, "pods that name the copy of the pull secret", func() bool {
		ns := g.namespace(t)
		return ns != "" && strings.Contains(kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.imagePullSecrets[*].name}"), "copy-default.orders-registry") &&
			strings.Contains(kubectl(t, "get", "secrets", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}"), "copy-default.orders-registry")
	})
	s := g.end(t)
	if s.code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", s.code, s.stderr)
	}
	d := s.document
	checkArms(t, d, `^hello-\d+-`)
	if ids := d.Machine.Images; len(ids) != 1 || len(ids[image(t)]) != 1 {
		t.Errorf("the IDs of images are %v, want that of %s", ids, image(t))
	}
	for arm, want := range map[string]map[string]uint64{"endpointslice": {"hello": 50, "again": 50}, "shared": {"hello": 40, "bye": 10}} {
		got := map[string]uint64{}
		for _, a := range d.Arms {
			for name, calls := range a.ByName {
				if a.Name == arm {
					got[name] = calls.Answered
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("arm %s: answered calls by name are %v, want %v", arm, got, want)
		}
	}
	for _, arm := range d.Arms {
		if used := len(arm.Backends); arm.Name == "endpointslice" && used != 2 {
			t.Errorf("%d backends of endpointslice are known, want 2: %v", used, arm.Backends)
		}
		if arm.Name == "shared" && arm.Trials[0].Unknown == "" {
			t.Errorf("rpclab knows which pods answered behind a virtual IP: %v", arm.Backends)
		}
		// A call of Go's gRPC takes some 50 µs of its server's CPU time, and two servers some 40 MB.
		used := arm.Resources.Server
		t.Logf("arm %s: the servers used %+v; %q", arm.Name, used, arm.Trials[0].Unknown)
		if used.CPU < 5 || used.CPU > 20_000 || used.RSS < 10<<20 || used.RSS > 256<<20 || len(arm.Trials[0].Servers) != 2 {
			t.Errorf("arm %s: the servers used %+v, want those of two pods: %v", arm.Name, used, arm.Trials[0].Servers)
		}
	}
}

// withEvents runs events on the pods of a service with a drain time, while a route that watches endpoints calls them.
func withEvents(t *testing.T, server, length, events string) result.Document {
	t.Helper()
	return mustRun(t, "churn", "--quick", "--service", greeter(t, server), "--arms", "endpointslice", "--set", "load.open.rate=100",
		"--set", "load.open.duration="+length, "--set", "server.drain=2s", "--set", "caller.timeout=15s", "--set", "events="+events)
}

func TestEventsOnAnImageOfTheUser(t *testing.T) {
	t.Parallel()
	var trial result.Trial
	for _, factor := range []int{1, 2, 4} { // a busy machine takes longer to start pods
		events := fmt.Sprintf("[{at: 1s, scale: 4}, {at: %ds, kill: 1}, {at: %ds, roll: true}]", 1+12*factor, 1+27*factor)
		trial = withEvents(t, imageServer(t, ", replicas: 3"), fmt.Sprintf("%ds", 50*factor), events).Arms[0].Trials[0]
		late := slices.ContainsFunc(trial.Events, func(e result.Event) bool { return e.Took.FirstCall == nil })
		if !late && trial.Unknown == "" {
			break
		}
		t.Logf("new pods were not ready before the next event or the end (%t), or not measured (%s): %v", late, trial.Unknown, trial.Backends)
	}
	if len(trial.Events) != 3 || trial.Failed != "" || len(trial.Lost) > 0 {
		t.Fatalf("%d events, want 3; failure %q, lost %v", len(trial.Events), trial.Failed, trial.Lost)
	}
	if used := trial.Resources.Server; used.CPU == 0 || used.RSS == 0 || len(trial.Servers) < 7 { // 4, the replacement of one, and at least 2 of the rollout
		t.Errorf("the servers used %+v, want those that ended too: %v; %s", used, trial.Servers, trial.Unknown)
	}
	for _, e := range trial.Events {
		t.Logf("%s: first call %s, balanced again %s; %d calls failed: %v", e.What, after(e.Took.FirstCall), after(e.Took.BalanceRestored), e.Failed, e.Errors)
		if e.Error != "" || e.Took.FirstCall == nil {
			t.Errorf("%s: error %q, and its first call at a new pod came after %s", e.What, e.Error, after(e.Took.FirstCall))
		}
	}
	if rolled := trial.Events[2]; rolled.Failed > 0 {
		t.Errorf("%d calls failed in a rollout with a drain time: %v", rolled.Failed, rolled.Errors)
	}
}

// TestAServerThatDoesNotStartIsExplained runs service files with one mistake each.
func TestAServerThatDoesNotStartIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server string
		want   []string
	}{
		"image": {`image: "nowhere/orders:1"`, []string{"cannot get the image nowhere/orders:1", "Check the name of the image"}},
		"crash": {fmt.Sprintf("image: %q, args: [serve-nothing]", image(t)), []string{"CrashLoopBackOff", "Its last lines:", `no command "serve-nothing"`}},
		"never ready": {strings.Replace(imageServer(t, ", timeout: 4s"), "{{.Address}}", "{{.Host}}:9001", 1),
			[]string{"was not ready within 4s: Readiness probe failed", "set server.port to its port", "Its last lines:"}},
		"stop": {imageServer(t, ", stop: {signal: INT}"), []string{"this cluster ignores the stop signal INT", "remove server.stop.signal"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run(t, "channels", "--quick", "--arms", "shared", "--service", greeter(t, c.server))
			t.Logf("%s", s.stderr)
			if s.code != 3 {
				t.Errorf("exit code %d, want 3", s.code)
			}
			for _, want := range c.want {
				if !strings.Contains(s.stderr, want) {
					t.Errorf("the error does not contain %q", want)
				}
			}
		})
	}
}

// shop is a namespace with a Deployment and a Service orders, at another port than its pods.
func shop(t *testing.T, namespace string) {
	t.Helper()
	apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: orders}}
  template:
    metadata: {labels: {app: orders}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: server
        image: %[2]s
        args: [server, --listen, "0.0.0.0:9000", --public, --delay, 1ms]
        env: [{name: GREETING, value: hello}]
        ports: [{name: metrics, containerPort: 9100}, {name: grpc, containerPort: 9000}]
        readinessProbe: {grpc: {port: 9000}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: orders, namespace: %[1]s}
spec:
  selector: {app: orders}
  ports: [{name: grpc, port: 80, targetPort: 9000}, {name: metrics, port: 9100}]
`, namespace, image(t)))
	kubectl(t, "rollout", "status", "deployment/orders", "-n", namespace, "--timeout=60s")
}

// runRules are the permissions of docs/kubernetes.md, which every run needs.
const runRules = `
- {apiGroups: [""], resources: [namespaces], verbs: [get, list, create, patch, delete]}
- {apiGroups: [""], resources: [secrets, serviceaccounts], verbs: [create, patch]}
- {apiGroups: [""], resources: [services], verbs: [create, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [list, watch, patch, delete, deletecollection]}
- {apiGroups: [""], resources: [pods/log], verbs: [get]}
- {apiGroups: [""], resources: [pods/portforward], verbs: [create]}
- {apiGroups: [""], resources: [events], verbs: [list, watch]}
- {apiGroups: [apps], resources: [deployments], verbs: [create, patch, delete]}
- {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}
- {apiGroups: [batch], resources: [jobs], verbs: [create, patch, delete]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, patch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [create, patch]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: [create, patch]}
`

// onlyReads makes the API server refuse every write of a user in a namespace.
func onlyReads(t *testing.T, name, namespace string) {
	t.Helper()
	apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]
  validations:
  - {expression: "request.namespace != '%[2]s' || request.userInfo.username != 'system:serviceaccount:default:%[1]s'", message: only reads}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, namespace))
	testkit.AwaitFor(t, patience, "the policy to refuse a write", func() bool {
		out, _ := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "--as=system:serviceaccount:default:"+name, "patch", "service", "orders",
			"-n", namespace, "--dry-run=server", "-p", `{"metadata":{"annotations":{"a":"b"}}}`).CombinedOutput()
		return strings.Contains(string(out), "only reads")
	})
}

// TestAnExistingServiceIsOnlyRead measures a Service as it is, as a user whom the API server refuses every write in
// its namespace.
func TestAnExistingServiceIsOnlyRead(t *testing.T) {
	t.Parallel()
	shop(t, "shop-read")
	file := greeter(t, "service: shop-read/orders")
	config := user(t, "reader", runRules+`
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [create, patch, delete]}
`)
	arms := []string{"channels", "--quick", "--rounds", "1", "--service", file, "--arms", "shared,headless,endpointslice,kuberesolver", "--set", "load.burst=50", "--kubeconfig", config}
	s := run(t, arms...)
	if s.code != 3 || !strings.Contains(s.stderr, "allow get on services; then `kubectl auth can-i get services -n shop-read` answers yes") {
		t.Errorf("without the permission to get the Service: exit code %d, want 3, with the permission:\n%s", s.code, s.stderr)
	}
	kubectl(t, "create", "role", "reader", "-n", "shop-read", "--verb=get", "--resource=services")
	kubectl(t, "create", "rolebinding", "reader", "-n", "shop-read", "--role=reader", "--serviceaccount=default:reader")
	onlyReads(t, "reader", "shop-read")
	objects := func() string { // the generation of an EndpointSlice counts changes of its pods' readiness too
		return kubectl(t, "get", "all", "-n", "shop-read", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}/{.metadata.generation} {end}`) +
			kubectl(t, "get", "endpointslices", "-n", "shop-read", "-o", "name")
	}
	before := objects()
	d := mustRun(t, arms...)
	checkArms(t, d, `^orders-`)
	for _, arm := range d.Arms {
		t.Logf("%s: %v", arm.Name, arm.Backends)
		if arm.Name != "shared" && len(arm.Backends) != 2 {
			t.Errorf("arm %s: %d backends are known, want 2", arm.Name, len(arm.Backends))
		}
	}
	if now := objects(); now != before {
		t.Errorf("the run changed the namespace from %s to %s", before, now)
	}
}

func TestEventsOnAnExistingServiceAreRefused(t *testing.T) {
	t.Parallel()
	s := run(t, "churn", "--quick", "--arms", "endpointslice", "--service", greeter(t, "service: shop/orders"))
	if s.code != 2 || !strings.Contains(s.stderr, "scale would disturb the Service shop/orders, which rpclab did not start") {
		t.Errorf("exit code %d, want 2:\n%s", s.code, s.stderr)
	}
	s = run(t, "channels", "--quick", "--arms", "shared", "--service", greeter(t, "service: default/kubernetes-2"))
	if s.code != 3 || !strings.Contains(s.stderr, "there is no Service kubernetes-2 in the namespace default: see `kubectl get services -n default`") {
		t.Errorf("exit code %d, want 3:\n%s", s.code, s.stderr)
	}
}

// TestADeploymentIsCopiedMeasuredAndRemoved leaves the original alone.
func TestADeploymentIsCopiedMeasuredAndRemoved(t *testing.T) {
	t.Parallel()
	const namespace = "shop-copy"
	shop(t, namespace)
	kubectl(t, "create", "secret", "docker-registry", "registry", "-n", namespace, "--docker-server=registry.invalid", "--docker-username=a", "--docker-password=b")
	kubectl(t, "create", "secret", "generic", "db", "-n", namespace, "--from-literal=url=x")
	kubectl(t, "create", "configmap", "settings", "-n", namespace, "--from-literal=MODE=fast")
	kubectl(t, "patch", "deployment", "orders", "-n", namespace, "-p", `{"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"registry"}],`+
		`"containers":[{"name":"server","envFrom":[{"configMapRef":{"name":"settings"}}]}]}}}}`)
	kubectl(t, "rollout", "status", "deployment/orders", "-n", namespace, "--timeout=60s")
	state := func() string {
		return kubectl(t, "get", "deployments,pods,services", "-n", namespace, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}/{.metadata.generation} {end}`)
	}
	testkit.AwaitFor(t, patience, "the pods before the patch to be gone", func() bool { return strings.Count(state(), "Pod/") == 2 })
	before := state()
	file := greeter(t, "deployment: "+namespace+"/orders, replicas: 3")
	g := begin(t, "churn", permitted(t, "copies", "deployment"), "--quick", "--service", file, "--arms", "endpointslice", "--set", "load.open.rate=100", "--set", "load.open.duration=40s",
		"--set", "caller.timeout=15s", "--set", "events=[{at: 1s, kill: 1}, {at: 19s, slow: {backends: 1, by: 1s}}]")
	secrets := ""
	testkit.AwaitFor(t, patience, "the copies", func() bool {
		if ns := g.namespace(t); ns != "" {
			secrets = kubectl(t, "get", "secrets", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}")
		}
		return strings.Contains(secrets, "copy-"+namespace+".registry")
	})
	if want := "agents copy-" + namespace + ".registry"; secrets != want {
		t.Errorf("the namespace of the run has the secrets %q, want %q", secrets, want)
	}
	if mode := kubectl(t, "get", "configmap", "copy-"+namespace+".settings", "-n", g.namespace(t), "-o", "jsonpath={.data.MODE}"); mode != "fast" {
		t.Errorf("the copy of the ConfigMap has the mode %q, want fast", mode)
	}
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 || !strings.Contains(s.stderr, "The copy of shop-copy/orders runs container server as user 65532, has no capabilities.") {
		t.Fatalf("exit code %d, want 0, and what differs from the original:\n%s", s.code, s.stderr)
	}
	arm := s.document.Arms[0]
	if unknown := arm.Trials[0].Unknown; arm.Resources.Server != (result.Usage{}) || !strings.Contains(unknown, "may not patch pods/ephemeralcontainers") {
		t.Errorf("without the permission the servers used %+v, want null and the reason: %q", arm.Resources.Server, unknown)
	}
	if len(arm.Backends) != 4 || arm.Calls == 0 { // one of three was replaced
		t.Errorf("%d calls, and %d backends are known, want 4: %v", arm.Calls, len(arm.Backends), arm.Backends)
	}
	for id := range arm.Backends {
		if !strings.HasPrefix(id, "hello-") {
			t.Errorf("the backend %s answered, want copies only", id)
		}
	}
	if arm.Service.P95 < 1000 { // a third of the calls of the last 21 s were slowed down
		t.Errorf("the p95 of answered calls is %v ms, want that of the slow pod", arm.Service.P95)
	}
	for _, e := range arm.Trials[0].Events {
		t.Logf("%s: %d calls failed, first call %s", e.What, e.Failed, after(e.Took.FirstCall))
		if e.Error != "" {
			t.Errorf("%s: %s", e.What, e.Error)
		}
	}
	if now := state(); now != before {
		t.Errorf("the run changed the original from %s to %s", before, now)
	}
	kubectl(t, "set", "env", "deployment/orders", "-n", namespace, "--from=secret/db")
	refused := run(t, "channels", "--quick", "--arms", "shared", "--service", file)
	if refused.code != 3 || !strings.Contains(refused.stderr, "the variable URL of container server from a Secret") {
		t.Errorf("exit code %d, want 3, and the secret that is not copied:\n%s", refused.code, refused.stderr)
	}
}
