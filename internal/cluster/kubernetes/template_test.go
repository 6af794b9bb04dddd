package kubernetes

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

// ordersTemplate is a Deployment as users write them.
const ordersTemplate = `
metadata: {name: orders, namespace: shop}
spec:
  template:
    metadata: {labels: {app: orders}, annotations: {x: y, kubectl.kubernetes.io/default-container: server}}
    spec:
      serviceAccountName: orders
      imagePullSecrets: [{name: registry}]
      terminationGracePeriodSeconds: 5
      containers:
      - {name: log, image: log:1, securityContext: {runAsUser: 1000}}
      - name: server
        image: orders:1.4
        args: [serve]
        env: [{name: GREETING, value: hello}]
        ports: [{name: metrics, containerPort: 9100}, {name: grpc, containerPort: 9000}]
        resources: {requests: {cpu: 100m}}
      volumes: [{name: cache, emptyDir: {}}]
`

func readDeployment(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func copySpec() cluster.Spec {
	return cluster.Spec{Name: "orders", Replicas: 2, Memory: 64 << 20, Program: &cluster.Program{Template: "shop/orders"}}
}

func TestACopiedTemplateNeedsNothingOfItsNamespace(t *testing.T) {
	c, err := adapt(readDeployment(t, ordersTemplate), copySpec())
	if err != nil {
		t.Fatal(err)
	}
	if want := "has no permissions (service account orders), runs container server as user 65532, has no capabilities"; strings.Join(c.changes, ", ") != want || c.port != 9000 {
		t.Errorf("port %d, changes %q; want 9000, %q", c.port, c.changes, want)
	}
	testkit.Golden(t, "copied.yaml", document(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: c.template}}))
}

// The files take the places of a Secret that two containers mount, one of them with a single key; one more file is
// mounted beside them.
func TestFilesReplaceTheSecretsOfACopiedTemplate(t *testing.T) {
	text := strings.NewReplacer(
		"emptyDir: {}}", "emptyDir: {}}, {name: keys, secret: {secretName: shop}}, {name: more, configMap: {name: shop}}",
		"{runAsUser: 1000}", "{runAsUser: 1000}, volumeMounts: [{name: keys, mountPath: /log/key, subPath: tls.key}]",
		"args: [serve]", "args: [serve]\n        volumeMounts: [{name: keys, mountPath: /etc/tls/, readOnly: true}, {name: more, mountPath: /etc/more}]",
	).Replace(ordersTemplate)
	spec := copySpec()
	spec.Program.Files = map[string][]byte{"/etc/tls/tls.crt": {1}, "/etc/tls/ca/ca.crt": {2}, "/log/key": {3}, "/etc/other.txt": {4}}
	if _, err := adapt(readDeployment(t, text), spec); err == nil || !strings.Contains(err.Error(), "the volume more at /etc/more: only") || strings.Contains(err.Error(), "volume keys") {
		t.Errorf("%v, want the refusal of the ConfigMap only", err)
	}
	spec.Program.Files["/etc/more/a.yaml"] = []byte{5}
	c, err := adapt(readDeployment(t, text), spec)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.changes, "has files of this machine in place of the volume keys") {
		t.Errorf("changes %q, want the replaced volume keys", c.changes)
	}
	testkit.Golden(t, "copied-files.yaml", document(t, append(filesOf(testScope, spec.Program), &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: c.template}})...))
}

func TestATemplateThatNeedsMoreIsRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"value: hello", "valueFrom: {secretKeyRef: {name: db, key: url}}", "the variable GREETING of container server from a Secret"},
		{"value: hello", "valueFrom: {configMapKeyRef: {name: db, key: url}}", "the variable GREETING of container server from a ConfigMap"},
		{"args: [serve]", "envFrom: [{configMapRef: {name: all}}]", "the environment of container server from a ConfigMap"},
		{"emptyDir: {}", "secret: {secretName: db}", "the volume cache: only emptyDir and downwardAPI are copied"},
		{"runAsUser: 1000", "privileged: true", "a privileged container, log"},
		{"runAsUser: 1000", "capabilities: {add: [NET_ADMIN]}", "the capability NET_ADMIN for container log"},
		{"terminationGracePeriodSeconds: 5", "hostNetwork: true", "the network or the processes of their node"},
		{"name: grpc,", "name: main,", "the container server of shop/orders has 2 ports, none with the name grpc or http: set server.port"},
	} {
		_, err := adapt(readDeployment(t, strings.Replace(ordersTemplate, c.old, c.new, 1)), copySpec())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
