// Package kube drives the program on a real Kubernetes, the test bed of test/cluster:
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

// bed is the directory of the cluster, in which its kubeconfig lies, and kubectl beside it;
// it has the cluster's name.
func bed(t *testing.T) string {
	t.Helper()
	config := os.Getenv("KUBECONFIG")
	if config == "" {
		t.Fatal("no cluster is named by KUBECONFIG: make cluster-test starts one, and these tests on it")
	}
	return filepath.Dir(config)
}

// ran is what a command says on standard output; it has to end well.
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
	return ran(t, filepath.Join(bed(t), "kubectl"), args...)
}

var harness struct {
	sync.Once
	path string
}

// cluster runs a command of the test bed's own.
func cluster(t *testing.T, command string, args ...string) string {
	t.Helper()
	harness.Do(func() {
		path := filepath.Join(filepath.Dir(testkit.Rpclab(t)), "cluster") // which goes with the tests
		ran(t, "go", "build", "-o", path, "rpclab/test/cluster")
		harness.path = path
	})
	return ran(t, harness.path, append([]string{command, "--name", filepath.Base(bed(t))}, args...)...)
}

// outside runs a command where the nodes can be reached, and NodePorts with them.
func outside(t *testing.T, args ...string) string {
	t.Helper()
	return cluster(t, "exec", append([]string{"--"}, args...)...)
}

var loaded sync.Map // names of images that the nodes have

// image makes the image of this tree's program known to every node, by a name; empty: by
// the one that a run asks for. It returns the name.
func image(t *testing.T, name string) string {
	t.Helper()
	if full, ok := loaded.Load(name); ok {
		return full.(string)
	}
	archive := filepath.Join(t.TempDir(), "rpclab.tar")
	args := []string{"image", "build", "--output", archive}
	if name != "" {
		args = append(args, "--name", name)
	}
	full := strings.TrimSpace(ran(t, testkit.Rpclab(t), args...))
	cluster(t, "load-image", archive)
	loaded.Store(name, full)
	return full
}
