package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"rpclab/internal/testkit"
)

const (
	chart       = "../../deploy/chart"
	chartValues = "testdata/chart.yaml"
)

var helmClient struct {
	sync.Mutex
	path string
}

// helm runs the client of Helm on the cluster.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	return ran(t, helmPath(t), args...)
}

func helmPath(t *testing.T) string {
	t.Helper()
	helmClient.Lock()
	defer helmClient.Unlock()
	if helmClient.path == "" {
		helmClient.path = strings.TrimSpace(cluster(t, "helm"))
	}
	return helmClient.path
}

// chartNamespace creates a namespace that admits only restricted pods, and removes it with its releases.
func chartNamespace(t *testing.T, name string) {
	t.Helper()
	kubectl(t, "create", "namespace", name)
	t.Cleanup(func() {
		// The context of the test has ended.
		if out, err := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "delete", "namespace", name, "--timeout=120s").CombinedOutput(); err != nil {
			t.Errorf("delete the namespace %s: %v\n%s", name, err, out)
		}
	})
	kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
}

// volume offers a directory of this machine, on which all nodes are, to the claim of a release.
func volume(t *testing.T, namespace, claim string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "rpclab-chart-") // t.TempDir would be checked while pods still write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chown(directory, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "volume.yaml")
	text := fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
  hostPath: {path: %s}, claimRef: {namespace: %s, name: %s}}}`, namespace, directory, namespace, claim)
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", manifest)
	t.Cleanup(func() {
		_ = exec.Command(filepath.Join(clusterDir(t), "kubectl"), "delete", "persistentvolume", namespace, "--wait=false").Run()
	})
}

// jobEnd waits until a Job has ended. It returns its condition Complete or Failed with the message, and the log.
func jobEnd(t *testing.T, namespace, job string) (condition, log string) {
	t.Helper()
	testkit.AwaitFor(t, patience, "the end of the Job "+job, func() bool {
		condition = strings.TrimSpace(kubectl(t, "-n", namespace, "get", "job", job, "-o",
			`jsonpath={range .status.conditions[?(@.status=="True")]}{.type} {.message}{"\n"}{end}`))
		return strings.Contains(condition, "Complete") || strings.Contains(condition, "Failed ")
	})
	return condition, kubectl(t, "-n", namespace, "logs", "job/"+job, "--all-containers", "--ignore-errors")
}

// TestChartRepeatsAnExperimentAndComparesWithTheLastRun installs the chart, runs its CronJob, and upgrades it.
func TestChartRepeatsAnExperimentAndComparesWithTheLastRun(t *testing.T) {
	t.Parallel()
	const namespace, name = "chart", "lab-rpclab"
	chartNamespace(t, namespace)
	volume(t, namespace, name)
	release := []string{"--namespace", namespace, "-f", chartValues, "--set", "image=" + image(t), "lab", chart}
	helm(t, append([]string{"install", "--wait", "--timeout", "3m"}, release...)...)

	page := func(args ...string) string {
		at := strings.TrimSpace(kubectl(t, "-n", namespace, "get", "pods", "-l", "app.kubernetes.io/component=page", "-o", "jsonpath={.items[0].status.podIP}"))
		return onNodeNetwork(t, append([]string{"curl", "-sS", "-o", "-", "-w", " status %{http_code}", "http://" + at + ":8421/api/v1/runs"}, args...)...)
	}
	if said := page(); !strings.HasSuffix(said, " status 401") {
		t.Errorf("without the token the page answers %s, want status 401", said)
	}
	token := func() string {
		return kubectl(t, "-n", namespace, "get", "secret", name+"-token", "-o", "go-template={{.data.token | base64decode}}")
	}
	authorized := []string{"-H", "Authorization: Bearer " + token(), "-H", "Host: lab-rpclab.chart.svc"}
	for _, args := range [][]string{authorized, append(authorized[:3:3], "Host: lab-rpclab.chart.svc.cluster.local")} {
		if said := page(args...); !strings.HasSuffix(said, " status 200") {
			t.Errorf("with %s the page answers %s, want status 200", args[3], said)
		}
	}

	repeat := func(job, condition string, says ...string) string {
		t.Helper()
		kubectl(t, "-n", namespace, "create", "job", "--from=cronjob/"+name, job)
		ended, log := jobEnd(t, namespace, job)
		for _, want := range append([]string{condition}, says...) {
			if !strings.Contains(ended+"\n"+log, want) {
				t.Errorf("the Job %s does not say %q:\n%s\n%s", job, want, ended, log)
			}
		}
		return log
	}
	first := repeat("first", "Complete", "rpclab: gates: nothing to compare: the store has no earlier run of small without --quick that did not fail")
	found := regexp.MustCompile("rpclab report ([^` ]+)").FindStringSubmatch(first)
	if found == nil {
		t.Fatalf("the first run names no ID:\n%s", first)
	}
	id := found[1]
	repeat("second", "Complete", "rpclab: comparing with run "+id, "rpclab: gates: passed: 1 passed")
	if said := page(authorized...); !strings.Contains(said, id) {
		t.Errorf("the page does not list the run %q of the CronJob: %s", id, said)
	}

	before := token()
	helm(t, append([]string{"upgrade", "--wait", "--timeout", "3m", "--set", "page.token=", "--set", "experiment.gates={p50 ratio < 0.01}"}, release...)...)
	if after := token(); after != before {
		t.Error("the upgrade changed the token of the page")
	}
	repeat("third", "exit code 1", "failed: the ratio is")
	if said := kubectl(t, "-n", namespace, "exec", "deploy/"+name, "--", "/rpclab", "runs", "accept", "latest"); !strings.HasPrefix(said, "accepted ") {
		t.Errorf("the page's pod does not accept the run that failed: %s", said)
	}

	helm(t, append([]string{"upgrade", "--set", "job.enabled=true", "--set", "experiment.args={nosuch}"}, release...)...)
	if ended, log := jobEnd(t, namespace, name+"-3"); !strings.Contains(ended, "exit code 2") {
		t.Errorf("a wrong experiment: the Job ends with %q, want exit code 2\n%s", ended, log)
	}
	helm(t, "uninstall", "--namespace", namespace, "--wait", "lab")
	if left := kubectl(t, "-n", namespace, "get", "persistentvolumeclaim", "-o", "name"); !strings.Contains(left, name) {
		t.Errorf("the stored runs are gone with the release: %q", left)
	}
}

// YAML reads names of digits as numbers, which labels and subjects may not be.
func TestChartQuotesNamesOfDigits(t *testing.T) {
	t.Parallel()
	text := helm(t, "template", "--namespace", "123", "--set", "image=rpclab:1", "--set", "experiment.on=kubernetes", "456", chart)
	text += helm(t, "template", "--set", "image=rpclab:1", "--set", "serviceMonitor.enabled=true", "--set-string", "storage.existingClaim=12,page.existingSecret=34",
		"--set-string", "imagePullSecrets={56}", "lab", chart)
	for _, unquoted := range []string{"instance: 456", "namespace: 123", "claimName: 12", "name: 34", "name: 56"} {
		if strings.Contains(text, unquoted) {
			t.Errorf("the chart renders %q without quotes", unquoted)
		}
	}
}

// A file may begin with a blank, and may end with none or with empty lines.
func TestChartKeepsFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.csv": "  x\ny\n", "b.proto": "<&>\n\n\n", "c": "no end", "123": ""}
	set, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	var rendered struct{ Data map[string]string }
	text := helm(t, "template", "--show-only", "templates/files.yaml", "--set", "image=rpclab:1", "--set-json", "experiment.files="+string(set), "lab", chart)
	if err := yaml.Unmarshal([]byte(text), &rendered); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(files, rendered.Data); diff != "" {
		t.Errorf("the files of the pods (+) are not those that were given (-):\n%s", diff)
	}
}

// The page starts runs too, and its volume may be all there is.
func TestChartLimitsTheStoreOfThePage(t *testing.T) {
	t.Parallel()
	text := helm(t, "template", "--show-only", "templates/page.yaml", "--set", "image=rpclab:1", "lab", chart)
	if !strings.Contains(text, "- --store-limit=1Gi\n") {
		t.Errorf("the page does not remove the oldest runs beyond storage.limit:\n%s", text)
	}
}

// Helm reads a number in a list of --set as an integer.
func TestChartAcceptsTheArgumentsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)--set\s+'(experiment\.args=\{[^']*\})'`).FindAllSubmatch(guide, -1)
	if len(found) < 2 {
		t.Fatalf("docs/kubernetes.md sets experiment.args in %d places, want 2 or more", len(found))
	}
	for _, args := range found {
		text := helm(t, "template", "--show-only", "templates/repeat.yaml", "--set", "image=rpclab:1", "--set", string(args[1]), "lab", chart)
		if !regexp.MustCompile(`- "--rounds"\s+- "6"\n`).MatchString(text) {
			t.Errorf("--set %s: the experiment lacks --rounds 6:\n%s", args[1], text)
		}
	}
}

func TestChartRestartsThePageForANewToken(t *testing.T) {
	t.Parallel()
	checksum := func(value string) string {
		text := helm(t, "template", "--set", "image=rpclab:1", "--set", value, "lab", chart)
		return regexp.MustCompile(`checksum/token: .*`).FindString(text)
	}
	first, same, other := checksum("page.token=0123456789abcdef"), checksum("page.token=0123456789abcdef"), checksum("page.token=fedcba9876543210")
	if first == "" || first != same || first == other {
		t.Errorf("the pods of the page have %q and %q with a token, and %q with another", first, same, other)
	}
	if got := checksum("page.existingSecret=mine"); got != "" {
		t.Errorf("with a Secret that the chart does not know the pods have %q", got)
	}
}

func TestChartRefusesPullSecretsThatRunsWouldNotHave(t *testing.T) {
	t.Parallel()
	for on, refused := range map[string]bool{"local": false, "kubernetes": true} {
		said, err := exec.Command(helmPath(t), "template", "--set", "image=rpclab:1", "--set", "imagePullSecrets={registry}", "--set", "experiment.on="+on, "lab", chart).CombinedOutput()
		if (err != nil) != refused || refused && !strings.Contains(string(said), "imagePullSecrets do not reach the pods of runs") {
			t.Errorf("on %s: error %v, want one: %v\n%s", on, err, refused, said)
		}
	}
}

// A Job must not be green because nothing was compared.
func TestChartRefusesGatesThatWouldAlwaysPass(t *testing.T) {
	t.Parallel()
	if text := helm(t, "template", "--show-only", "templates/repeat.yaml", "--set", "image=rpclab:1", "lab", chart); !strings.Contains(text, "- --undecided=fail\n") {
		t.Errorf("a gate passes when rpclab cannot tell:\n%s", text)
	}
	for set, refused := range map[string]bool{
		"repeat.enabled=true":                            true,
		"repeat.enabled=false,job.enabled=true":          true,
		"repeat.enabled=false":                           false, // the page alone
		"experiment.gates=null":                          false,
		"experiment.args={mine.yaml,--against,baseline}": false,
		"experiment.args={mine.yaml,--against=baseline}": false,
		"experiment.args={mine.yaml,--against,last}":     true,
	} {
		said, err := exec.Command(helmPath(t), "template", "--set", "image=rpclab:1", "--set", "storage.enabled=false", "--set", set, "lab", chart).CombinedOutput()
		if (err != nil) != refused || refused && !strings.Contains(string(said), "without storage there is no earlier run") {
			t.Errorf("%s: error %v, want one: %v\n%s", set, err, refused, said)
		}
	}
}

// Prometheus reads the page's metrics with the token of the page.
func TestChartHasAServiceMonitorThatKnowsTheToken(t *testing.T) {
	t.Parallel()
	rendered := func(kind string, more ...string) (found map[string]any) {
		args := append([]string{"template", "--set", "image=rpclab:1", "--set", "serviceMonitor.enabled=true", "--set", "serviceMonitor.labels.release=prometheus"}, more...)
		for part := range strings.SplitSeq(helm(t, append(args, "lab", chart)...), "\n---") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(part), &object); err != nil {
				t.Fatal(err)
			}
			if object["kind"] == kind {
				found = object
			}
		}
		return found
	}
	monitor, service := rendered("ServiceMonitor"), rendered("Service")
	if monitor == nil || service == nil {
		t.Fatalf("the ServiceMonitor is %v and the Service %v", monitor, service)
	}
	metadata, spec := monitor["metadata"].(map[string]any), monitor["spec"].(map[string]any)
	endpoint := spec["endpoints"].([]any)[0].(map[string]any)
	if labels := metadata["labels"].(map[string]any); labels["release"] != "prometheus" {
		t.Errorf("the labels are %v, want those that the Prometheus selects", labels)
	}
	selected, has := spec["selector"].(map[string]any)["matchLabels"].(map[string]any), service["metadata"].(map[string]any)["labels"].(map[string]any)
	for label, value := range selected {
		if has[label] != value {
			t.Errorf("the Service has the label %s=%v, and the ServiceMonitor selects %v", label, has[label], value)
		}
	}
	if !slices.ContainsFunc(service["spec"].(map[string]any)["ports"].([]any), func(port any) bool { return port.(map[string]any)["name"] == endpoint["port"] }) {
		t.Errorf("the Service has no port %v", endpoint["port"])
	}
	token := endpoint["authorization"].(map[string]any)["credentials"].(map[string]any)["name"]
	if secret := rendered("Secret", "--set", "page.token="+strings.Repeat("t", 32)); secret["metadata"].(map[string]any)["name"] != token {
		t.Errorf("the token is in the Secret %v, want the one of the page: %v", token, secret["metadata"])
	}
	if none := rendered("ServiceMonitor", "--set", "page.enabled=false"); none != nil {
		t.Errorf("without a page there is a ServiceMonitor: %v", none)
	}
}
