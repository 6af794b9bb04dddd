package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		"emptyDir: {}}", "emptyDir: {}}, {name: keys, secret: {secretName: shop}}, {name: more, secret: {secretName: shop}}",
		"{runAsUser: 1000}", "{runAsUser: 1000}, volumeMounts: [{name: keys, mountPath: /log/key, subPath: tls.key}]",
		"args: [serve]", "args: [serve]\n        volumeMounts: [{name: keys, mountPath: /etc/tls/, readOnly: true}, {name: more, mountPath: /etc/more}]",
	).Replace(ordersTemplate)
	spec := copySpec()
	spec.Program.Files = map[string][]byte{"/etc/tls/tls.crt": {1}, "/etc/tls/ca/ca.crt": {2}, "/log/key": {3}, "/etc/other.txt": {4}}
	if _, err := adapt(readDeployment(t, text), spec); err == nil || !strings.Contains(err.Error(), "the volume more at /etc/more: only") || strings.Contains(err.Error(), "volume keys") {
		t.Errorf("%v, want the refusal of the other Secret only", err)
	}
	spec.Program.Files["/etc/more/a.yaml"] = []byte{5}
	c, err := adapt(readDeployment(t, text), spec)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.changes, "has files of this machine in place of those in the volume keys") {
		t.Errorf("changes %q, want the replaced volume keys", c.changes)
	}
	testkit.Golden(t, "copied-files.yaml", document(t, append(filesOf(testScope, spec.Program), &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: c.template}})...))
}

// A file takes the place of one in a ConfigMap, whose others stay, also of those in a projected volume.
func TestFilesLeaveTheOthersOfAConfigMap(t *testing.T) {
	text := strings.NewReplacer(
		"emptyDir: {}}", `emptyDir: {}}, {name: all, configMap: {name: settings, defaultMode: 0440}}, {name: some, configMap: {name: settings, items: [{key: a, path: a.yaml}, {key: b, path: b.yaml}]}},
        {name: one, configMap: {name: settings, items: [{key: a, path: a.yaml}]}}, {name: both, projected: {sources: [{secret: {name: keys}}, {configMap: {name: settings}}]}}`,
		"args: [serve]", "args: [serve]\n        volumeMounts: [{name: all, mountPath: /all}, {name: some, mountPath: /some}, {name: one, mountPath: /one}, {name: both, mountPath: /both}]",
	).Replace(ordersTemplate)
	spec := copySpec()
	spec.Program.Files = map[string][]byte{"/all/a": {1}, "/some/a.yaml": {2}, "/one/a.yaml": {3}, "/both/key": {4}}
	c, err := adapt(readDeployment(t, text), spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range c.template.Spec.Volumes[1:5] {
		text := v.Name + ":"
		if v.Secret != nil {
			text += " files"
		}
		if v.Projected != nil {
			for _, from := range v.Projected.Sources {
				switch {
				case from.ConfigMap != nil:
					text += " " + from.ConfigMap.Name
					for _, item := range from.ConfigMap.Items {
						text += " " + item.Path
					}
				case from.Secret != nil && from.Secret.Name == filesName(spec.Program.Files):
					text += " files " + from.Secret.Items[0].Path
				}
			}
		}
		got = append(got, text)
	}
	want := []string{"all: settings files a", "some: settings b.yaml files a.yaml", "one: files", "both: settings files key"}
	if !slices.Equal(got, want) || *c.template.Spec.Volumes[1].Projected.DefaultMode != 0o440 {
		t.Errorf("the volumes have the sources %q, want %q", got, want)
	}
}

// A file below another mount is not in the outer volume, whose Secret the copy still lacks.
func TestAFileReplacesOnlyTheVolumeThatShowsIt(t *testing.T) {
	text := strings.NewReplacer(
		"emptyDir: {}}", "emptyDir: {}}, {name: keys, secret: {secretName: shop}}, {name: trusted, configMap: {name: trusted}}",
		"args: [serve]", "args: [serve]\n        volumeMounts: [{name: keys, mountPath: /etc/tls}, {name: trusted, mountPath: /etc/tls/ca/}]",
	).Replace(ordersTemplate)
	spec := copySpec()
	spec.Program.Files = map[string][]byte{"/etc/tls/ca/ca.crt": {1}}
	if _, err := adapt(readDeployment(t, text), spec); err == nil || !strings.Contains(err.Error(), "the volume keys at /etc/tls: only") {
		t.Errorf("%v, want the refusal of the Secret", err)
	}
}

// server.env has a value in place of one from a Secret, and one more with the address of the pod.
func TestVariablesReplaceThoseOfACopiedTemplate(t *testing.T) {
	text := strings.Replace(ordersTemplate, "value: hello}", "valueFrom: {secretKeyRef: {name: db, key: url}}}, {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}", 1)
	spec := copySpec()
	spec.Program.Env = []string{"GREETING=hi", "SELF={{.Address}}"}
	c, err := adapt(readDeployment(t, text), spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range c.template.Spec.Containers[1].Env {
		got = append(got, v.Name+"="+v.Value)
	}
	want := []string{"RPCLAB_POD_NAME=", "RPCLAB_POD_IP=", "GREETING=hi", "POD_IP=", "SELF=$(RPCLAB_POD_IP):9000"}
	if !slices.Equal(got, want) || c.changes[1] != "has the value of server.env for GREETING, SELF" {
		t.Errorf("variables %q, changes %q; want %q", got, c.changes, want)
	}
}

// Each reference to a ConfigMap of the namespace refers to its copy.
func TestConfigMapsOfATemplateAreCopied(t *testing.T) {
	text := strings.NewReplacer(
		"emptyDir: {}}", "emptyDir: {}}, {name: more, configMap: {name: shop}}, {name: both, projected: {sources: [{configMap: {name: shop}}, {downwardAPI: {}}]}}",
		"value: hello", "valueFrom: {configMapKeyRef: {name: db, key: url}}",
		"args: [serve]", "envFrom: [{configMapRef: {name: all}}, {configMapRef: {name: none, optional: true}}]",
	).Replace(ordersTemplate)
	data := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Data: map[string]string{"url": "of " + name}, BinaryData: map[string][]byte{"b": {1}}}
	}
	original := readDeployment(t, text)
	api := fakeObjects(t, nil, original, data("shop"), data("db"), data("all"))
	c, err := api.copyTemplate(t.Context(), testScope, original, copySpec())
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	for _, o := range c.objects {
		m := o.(*corev1.ConfigMap)
		copied = append(copied, m.Namespace+"/"+m.Name+": "+m.Data["url"])
		if len(m.BinaryData) != 1 {
			t.Errorf("%s has no binary data", m.Name)
		}
	}
	want := []string{"rpclab-r1/copy-shop.all: of all", "rpclab-r1/copy-shop.db: of db", "rpclab-r1/copy-shop.shop: of shop"}
	if slices.Sort(copied); !slices.Equal(copied, want) {
		t.Errorf("copied %q, want %q", copied, want)
	}
	for _, of := range configMapsOf(&c.template.Spec) {
		if !strings.HasPrefix(*of.name, "copy-shop.") {
			t.Errorf("the copy refers to %s", *of.name)
		}
	}
	if n := len(configMapsOf(&c.template.Spec)); n != 5 {
		t.Errorf("%d references, want 5", n)
	}
	api = fakeObjects(t, nil, original, data("shop"), data("all"))
	if _, err := api.copyTemplate(t.Context(), testScope, original, copySpec()); err == nil || !strings.Contains(err.Error(), "its pods need the ConfigMap db, which the namespace shop does not have") {
		t.Errorf("%v, want the ConfigMap that is missing", err)
	}
}

// Kubernetes accepts a port with two names. Server-side apply does not.
func TestACopyOfAPortWithTwoNamesIsCreated(t *testing.T) {
	c, err := adapt(readDeployment(t, strings.Replace(ordersTemplate, "containerPort: 9100", "containerPort: 9000", 1)), copySpec())
	if err != nil {
		t.Fatal(err)
	}
	var method, body string
	api := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/deployments") {
			method, body = r.Method, string(text)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
	if err := api.apply(t.Context(), backends(testScope, "orders-1", copySpec(), c.template)...); err != nil {
		t.Fatal(err)
	}
	if method != http.MethodPost || strings.Count(body, `"containerPort":9000`) != 2 {
		t.Errorf("the Deployment is sent by %q: %s; want it created, with both names of its port", method, body)
	}
}

// What the restricted standard allows is copied as it is.
func TestATemplateKeepsTheProfilesThatAreAllowed(t *testing.T) {
	text := strings.NewReplacer("terminationGracePeriodSeconds: 5", `securityContext: {seccompProfile: {type: Localhost, localhostProfile: a.json},
        appArmorProfile: {type: RuntimeDefault}, seLinuxOptions: {type: container_t, level: "s0"}, sysctls: [{name: net.ipv4.tcp_rmem, value: "1"}]}`,
		"runAsUser: 1000", "procMount: Default").Replace(ordersTemplate)
	c, err := adapt(readDeployment(t, text), copySpec())
	if err != nil {
		t.Fatal(err)
	}
	if s := c.template.Spec.SecurityContext; s.SeccompProfile.Type != corev1.SeccompProfileTypeLocalhost || len(s.Sysctls) != 1 {
		t.Errorf("the copy has %+v, want the profiles and the kernel parameter of the template", s)
	}
}

func TestATemplateThatNeedsMoreIsRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"value: hello", "valueFrom: {secretKeyRef: {name: db, key: url}}", "the variable GREETING of container server from a Secret"},
		{"args: [serve]", "envFrom: [{secretRef: {name: all}}]", "the environment of container server from a Secret"},
		{"emptyDir: {}", "secret: {secretName: db}", "the volume cache: only emptyDir, configMap and downwardAPI are copied"},
		{"emptyDir: {}", "projected: {sources: [{configMap: {name: a}}, {secret: {name: db}}]}", "the volume cache: only emptyDir, configMap and downwardAPI are copied"},
		{"runAsUser: 1000", "privileged: true", "a privileged container, log"},
		{"runAsUser: 1000", "capabilities: {add: [NET_ADMIN]}", "the capability NET_ADMIN for container log"},
		{"terminationGracePeriodSeconds: 5", "hostNetwork: true", "the network or the processes of their node"},
		{"terminationGracePeriodSeconds: 5", "securityContext: {seccompProfile: {type: Unconfined}}", "the seccomp profile Unconfined"},
		{"runAsUser: 1000", "seccompProfile: {type: Unconfined}", "the seccomp profile Unconfined for container log"},
		{"runAsUser: 1000", "appArmorProfile: {type: Unconfined}", "the AppArmor profile Unconfined for container log"},
		{"terminationGracePeriodSeconds: 5", "securityContext: {appArmorProfile: {type: Unconfined}}", "the AppArmor profile Unconfined"},
		{"runAsUser: 1000", "procMount: Unmasked", "the whole of /proc for container log"},
		{"runAsUser: 1000", "seLinuxOptions: {type: spc_t}", "the SELinux options user \"\", role \"\", type \"spc_t\" for container log"},
		{"terminationGracePeriodSeconds: 5", "securityContext: {seLinuxOptions: {user: root}}", "the SELinux options user \"root\", role \"\", type \"\""},
		{"terminationGracePeriodSeconds: 5", "securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: \"1\"}, {name: net.core.somaxconn, value: \"1\"}]}", "need\n  the kernel parameter net.core.somaxconn\n"},
		{"name: grpc,", "name: main,", "the container server of shop/orders has 2 TCP ports, none with the name grpc or http: set server.port"},
	} {
		_, err := adapt(readDeployment(t, strings.Replace(ordersTemplate, c.old, c.new, 1)), copySpec())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// Kubernetes uses the last of two variables with one name.
func TestAVariableReplacesAllOfItsName(t *testing.T) {
	text := strings.Replace(ordersTemplate, "{name: GREETING, value: hello}", "{name: GREETING, value: hello}, {name: X, value: x}, {name: GREETING, value: again}", 1)
	spec := copySpec()
	spec.Program.Env = []string{"GREETING=mine"}
	c, err := adapt(readDeployment(t, text), spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range mainOf(&c.template.Spec, "server").Env {
		if v.Name == "GREETING" || v.Name == "X" {
			got = append(got, v.Name+"="+v.Value)
		}
	}
	if want := []string{"GREETING=mine", "X=x"}; !slices.Equal(got, want) {
		t.Errorf("the variables are %q, want %q", got, want)
	}
}

// A team may deploy another version during a run.
func TestARunCopiesOneVersionOfADeployment(t *testing.T) {
	asked := 0
	api := fakeAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "orders", "namespace": "shop"}, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "orders:%d"}]}}}}`, asked)
	})
	r := newRun(api, testScope, func(string) {}, func(string) {})
	for range 2 {
		d, err := r.original(t.Context(), "shop/orders")
		if err != nil {
			t.Fatal(err)
		}
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "orders:1" {
			t.Errorf("a trial copies %s, want orders:1", image)
		}
	}
}
