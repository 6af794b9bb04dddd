package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	spec "rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
)

// reasonTimeout is the time within which Deploy must return the reason why pods cannot start. A pod without a node has a
// minute, in which an autoscaler may add one.
const reasonTimeout = 100 * time.Second

// checkDeployError deploys backends that cannot start, and checks that the error has the reason.
func checkDeployError(t *testing.T, run, image string, before func(), wants ...string) {
	t.Helper()
	clusterDir(t)
	api, err := kubernetes.Connect(t.Context(), kubernetes.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	c, err := kubernetes.New(t.Context(), api, kubernetes.Options{ID: run, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	before()
	began := time.Now()
	_, err = c.Deploy(t.Context(), spec.Spec{Name: "greeter", Replicas: 3})
	took := time.Since(began)
	if err == nil {
		t.Fatal("Deploy returned no error, although pods cannot start")
	}
	t.Logf("%.1f s after Deploy was called: %v", took.Seconds(), err)
	if took > reasonTimeout {
		t.Errorf("the reason came after %s, want at most %s", took, reasonTimeout)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q", want)
		}
	}
}

func TestAnExceededQuotaIsReported(t *testing.T) {
	t.Parallel()
	checkDeployError(t, "quota", image(t), func() {
		kubectl(t, "create", "quota", "few", "--hard=pods=1", "-n", "rpclab-quota")
	}, "exceeded quota: few", "kubectl describe quota -n rpclab-quota")
}

func TestAMissingImageIsReported(t *testing.T) {
	t.Parallel()
	checkDeployError(t, "image", "nowhere:v9", func() {}, "nowhere:v9", "rpclab image build --push")
}

func TestTaintedNodesAreReported(t *testing.T) { // not parallel: no other pod finds a node
	checkDeployError(t, "taint", image(t), func() {
		t.Cleanup(func() {
			// The test's own context has ended by now.
			if out, err := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "taint", "nodes", "--all", "closed-").CombinedOutput(); err != nil {
				t.Errorf("remove the taint: %v\n%s", err, out)
			}
		})
		kubectl(t, "taint", "nodes", "--all", "closed=for-a-test:NoSchedule")
	}, "untolerated taint", "kubectl describe nodes")
}

func TestARunThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := run(t, "channels", "--quick", "--arms", "shared", "--image", "nowhere:v9")
	if s.code != 3 || !strings.Contains(s.stderr, "nowhere:v9") {
		t.Errorf("exit code %d, want 3:\n%s", s.code, s.stderr)
	}
}

// user creates a service account with only these permissions and returns its kubeconfig.
func user(t *testing.T, name, rules string) string {
	t.Helper()
	apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: %[2]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
`, name, rules))
	token := strings.TrimSpace(kubectl(t, "create", "token", name, "-n", "default"))
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(kubectl(t, "config", "view", "--raw", "--minify")), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "--kubeconfig", config, "config", "set-credentials", name, "--token="+token)
	kubectl(t, "--kubeconfig", config, "config", "set-context", "--current", "--user="+name)
	return config
}

// permitted creates a service account with the permissions of a run and of what else it uses, by the names of
// [kubernetes.Permissions], and returns the flag with its kubeconfig.
func permitted(t *testing.T, name string, uses ...string) string {
	t.Helper()
	all := kubernetes.Permissions()
	rules := all[kubernetes.PermissionsOfRun]
	for _, use := range uses {
		if all[use] == nil {
			t.Fatalf("no permissions are named %s", use)
		}
		rules = slices.Concat(rules, all[use])
	}
	text, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	return "--kubeconfig=" + user(t, name, string(text))
}

func TestMissingPermissionsAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rules string
		wants       []string
	}{
		{"nobody", "[]", []string{"lacks permissions that a run needs: get namespaces, ", "kind: ClusterRole", "- namespaces", "- deployments/scale"}},
		{"few", `[{apiGroups: ["", apps, batch, rbac.authorization.k8s.io, coordination.k8s.io, discovery.k8s.io], resources: ["*"], verbs: ["*"]}]`,
			[]string{"a run needs: create networkpolicies, patch networkpolicies\n", "kind: ClusterRole", "- networkpolicies", "- namespaces"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := user(t, c.name, c.rules)
			began := time.Now()
			s := run(t, "channels", "--quick", "--kubeconfig", config)
			t.Logf("%.1f s after the run began: %s", time.Since(began).Seconds(), s.stderr)
			if s.code != 3 {
				t.Errorf("exit code %d, want 3", s.code)
			}
			for _, want := range c.wants {
				if !strings.Contains(s.stderr, want) {
					t.Errorf("the error does not contain %q", want)
				}
			}
		})
	}
}
