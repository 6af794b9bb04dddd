// Package kube tests rpclab on a real Kubernetes cluster, which test/cluster starts:
//
//	make cluster-test
package kube

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// clusterDir returns the directory of the cluster with its kubeconfig and kubectl. It has the name of the
// cluster.
func clusterDir(t *testing.T) string {
	t.Helper()
	config := os.Getenv("KUBECONFIG")
	if config == "" {
		t.Fatal("KUBECONFIG is not set: run make cluster-test, which starts a cluster and these tests")
	}
	return filepath.Dir(config)
}

// ran runs a command that must succeed and returns its standard output.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return ran(t, filepath.Join(clusterDir(t), "kubectl"), args...)
}

// apply creates objects, and deletes them after the test.
func apply(t *testing.T, objects string) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(manifest, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", manifest)
	program := filepath.Join(clusterDir(t), "kubectl")
	t.Cleanup(func() { // the context of the test has ended
		if out, err := exec.Command(program, "delete", "--wait=false", "--ignore-not-found", "-f", manifest).CombinedOutput(); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
}

var harness struct {
	sync.Once
	path string
}

// clusterProgram returns the program of test/cluster.
func clusterProgram(t *testing.T) string {
	t.Helper()
	harness.Do(func() {
		path := filepath.Join(filepath.Dir(testkit.Rpclab(t)), "cluster") // removed after the tests
		ran(t, "go", "build", "-o", path, "rpclab/test/cluster")
		harness.path = path
	})
	return harness.path
}

// cluster runs a command of test/cluster.
func cluster(t *testing.T, command string, args ...string) string {
	t.Helper()
	return ran(t, clusterProgram(t), append([]string{command, "--name", filepath.Base(clusterDir(t))}, args...)...)
}

// onNodeNetwork runs a command in a network that reaches nodes and NodePorts.
func onNodeNetwork(t *testing.T, args ...string) string {
	t.Helper()
	return cluster(t, "exec", append([]string{"--"}, args...)...)
}

// loaded are the full names of images on the nodes, by the program that they contain.
var loaded = struct {
	sync.Mutex
	names map[string]string
}{names: map[string]string{}}

// image builds an image of rpclab with all proxies and loads it onto every node, once for all tests. It returns the name.
func image(t *testing.T) string {
	t.Helper()
	loaded.Lock() // one test builds, the others wait
	defer loaded.Unlock()
	const program = "rpclab"
	if loaded.names[program] == "" {
		archive := filepath.Join(t.TempDir(), "rpclab.tar")
		name := strings.TrimSpace(ran(t, testkit.Rpclab(t), "image", "build", "--output", archive))
		cluster(t, "load-image", archive)
		loaded.names[program] = name
	}
	return loaded.names[program]
}
