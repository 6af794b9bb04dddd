//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

// k runs kubectl with an additional environment variable and returns its output.
func (b bed) k(env string, args ...string) (string, error) {
	cmd := exec.Command(b.kubectl, args...)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b bed) mustK(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.k("", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// says waits until kubectl prints something.
func (b bed) says(t *testing.T, want string, args ...string) {
	t.Helper()
	var out string
	defer func() {
		if t.Failed() {
			t.Logf("kubectl %s: %s", strings.Join(args, " "), out)
		}
	}()
	testkit.AwaitFor(t, 2*time.Minute, fmt.Sprintf("kubectl %s to say %q", strings.Join(args, " "), want), func() bool {
		out, _ = b.k("", args...)
		return strings.Contains(out, want)
	})
}

// worksAsKubernetesDoes checks each feature that tests need.
func (b bed) worksAsKubernetesDoes() {
	archive := filepath.Join(b.t.TempDir(), "web.tar")
	if err := packProgram(archive, "rpclab.test/web:1", "/bin/busybox"); err != nil {
		b.t.Fatal(err)
	}
	b.must("load-image", "--name", testName, archive)
	b.mustK(b.t, "apply", "-f", "testdata/web.yaml")
	b.mustK(b.t, "-n", "strict", "rollout", "status", "deployment/web", "--timeout=120s")
	b.mustK(b.t, "wait", "--for=condition=Ready", "pod/guest", "pod/stranger", "--timeout=120s")

	for _, how := range []string{"true", "false"} {
		transport := map[string]string{"true": "websockets", "false": "SPDY"}[how]
		b.t.Run("exec over "+transport, func(t *testing.T) {
			if out, err := b.k("KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+how, "exec", "guest", "--", "busybox", "echo", "here"); err != nil || out != "here\n" {
				t.Errorf("%q, %v", out, err)
			}
		})
		b.t.Run("port-forward over "+transport, func(t *testing.T) { b.portForward(t, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+how) })
	}
	b.t.Run("logs", func(t *testing.T) { b.says(t, "serving", "-n", "strict", "logs", "deployment/web") })
	b.t.Run("a service from a pod, by its name", func(t *testing.T) {
		b.says(t, "hello from web-", "exec", "guest", "--", "busybox", "wget", "-qO-", "http://web.strict")
	})
	b.t.Run("a NodePort from the control plane's network, which a network policy permits", func(t *testing.T) {
		for _, node := range []string{"198.18.255.11", "198.18.255.12"} {
			if out := b.must("exec", "--name", testName, "--", "busybox", "wget", "-qO-", "http://"+node+":30800"); !strings.Contains(out, "hello from web-") {
				t.Errorf("%s: %q", node, out)
			}
		}
	})
	b.t.Run("a network policy refuses other pods until it is deleted", func(t *testing.T) {
		b.says(t, "Connection refused", "exec", "stranger", "--", "busybox", "wget", "-qO-", "http://web.strict")
		b.mustK(t, "-n", "strict", "delete", "networkpolicy", "guests")
		b.says(t, "hello from web-", "exec", "stranger", "--", "busybox", "wget", "-qO-", "http://web.strict")
	})
	b.t.Run("a pod's resources by the kubelet", b.statistics)
	b.t.Run("a pod's resources by the metrics API", func(t *testing.T) {
		b.says(t, "guest", "top", "pods", "-l", "role=guest")
		b.says(t, "n2", "top", "nodes")
	})
	b.t.Run("a container that wants too much memory is killed", func(t *testing.T) {
		b.says(t, "OOMKilled 137", "get", "pod", "glutton", "-o",
			"jsonpath={.status.containerStatuses[0].state.terminated.reason} {.status.containerStatuses[0].state.terminated.exitCode}")
	})
	b.t.Run("pod security", func(t *testing.T) {
		b.says(t, `violates PodSecurity "restricted`, "-n", "strict", "run", "any", "--image=rpclab.test/box:1")
	})
	b.t.Run("quota", func(t *testing.T) {
		b.says(t, "exceeded quota: nothing", "-n", "poor", "run", "any", "--image=rpclab.test/box:1")
	})
	b.t.Run("an image that is not there is named", func(t *testing.T) {
		b.mustK(t, "run", "absent", "--image=rpclab.test/absent:1")
		b.says(t, "rpclab.test/absent:1", "get", "events", "--field-selector", "reason=Failed,involvedObject.name=absent")
		b.mustK(t, "delete", "pod", "absent", "--now")
	})
	b.t.Run("a drained node is empty", func(t *testing.T) {
		b.mustK(t, "drain", "n2", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
		b.mustK(t, "-n", "strict", "rollout", "status", "deployment/web", "--timeout=120s")
		if out := b.mustK(t, "-n", "strict", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}"); strings.Contains(out, "n2") {
			t.Errorf("after the drain the pods are on %s", out)
		}
	})
}

// portForward requests a page through a port-forward.
func (b bed) portForward(t *testing.T, env string) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, b.kubectl, "-n", "strict", "port-forward", "deployment/web", ":8080")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	var port int
	if _, err := fmt.Fscanf(out, "Forwarding from 127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	answer, err := client.Get("http://" + net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.HasPrefix(string(body), "hello from web-") {
		t.Errorf("%q, %v", body, err)
	}
}

// statistics waits until the kubelet has measured the usage of a pod.
func (b bed) statistics(t *testing.T) {
	type summary struct {
		Pods []struct {
			PodRef struct{ Name string }
			CPU    struct{ UsageCoreNanoSeconds uint64 }
			Memory struct{ WorkingSetBytes uint64 }
		}
	}
	testkit.AwaitFor(t, 2*time.Minute, "what the pod guest uses", func() bool {
		var now summary
		if err := json.Unmarshal([]byte(b.mustK(t, "get", "--raw", "/api/v1/nodes/n1/proxy/stats/summary")), &now); err != nil {
			t.Fatal(err)
		}
		for _, pod := range now.Pods {
			if pod.PodRef.Name == "guest" {
				return pod.CPU.UsageCoreNanoSeconds > 0 && pod.Memory.WorkingSetBytes > 0
			}
		}
		return false
	})
}
