package kube

import (
	"strings"
	"testing"
)

func TestChannelsOnKubernetes(t *testing.T) {
	t.Parallel()
	d := mustRun(t, "channels", "--quick", "--rounds", "1", "--arms", "shared,headless,endpointslice,kuberesolver", permitted(t, "runs"))
	if d.Cluster != "kubernetes" || !strings.HasPrefix(d.Machine.Kubernetes, "v1.") {
		t.Errorf("the result has the cluster %q, version %q", d.Cluster, d.Machine.Kubernetes)
	}
	for _, arm := range d.Arms {
		if lost := arm.Failed(); lost > 0 {
			t.Errorf("%s: %d calls failed: %v", arm.Name, lost, arm.Samples)
		}
		used := 0
		for _, calls := range arm.Backends {
			if calls > 0 {
				used++
			}
		}
		switch {
		case arm.Name == "shared" && used != 1:
			t.Errorf("one connection reached %d backends, want 1: %v", used, arm.Backends)
		case arm.Name != "shared" && arm.Balance.Jain < 0.99:
			t.Errorf("%s: calls by backend are %v, want equal shares", arm.Name, arm.Backends)
		}
		if arm.Resources.Client.CPU <= 0 || arm.Resources.Server.CPU <= 0 || arm.Resources.Server.RSS == 0 {
			t.Errorf("%s: CPU time or memory is not known: %+v", arm.Name, arm.Resources)
		}
	}
}

func TestABackendWithTooLittleMemoryIsReportedAsOOMKilled(t *testing.T) {
	t.Parallel()
	d := mustRun(t, "channels", "--quick", "--rounds", "1", "--arms", "shared", "--set", "server.memory=40Mi", "--set", "load.burst=8000")
	lost := strings.Join(d.Arms[0].Trials[0].Lost, "\n")
	if !strings.Contains(lost, "OOMKilled") || !strings.Contains(lost, "40Mi") || !strings.Contains(lost, "pod greeter-") {
		t.Errorf("lost backends: %q, want an OOMKilled pod with its limit", lost)
	}
}

// TestADrainLosesNoCallAndUncordonsTheNode drains a node while a budget permits to evict one of three backends at a
// time.
func TestADrainLosesNoCallAndUncordonsTheNode(t *testing.T) {
	t.Parallel()
	drained(t, permitted(t, "drains", "nodes"))
	if cordoned := kubectl(t, "get", "nodes", "--field-selector", "spec.unschedulable=true", "-o", "name"); cordoned != "" {
		t.Errorf("nodes are still cordoned: %s", cordoned)
	}
}

// TestSecurityOnKubernetes checks that servers and callers in pods receive their keys.
func TestSecurityOnKubernetes(t *testing.T) {
	t.Parallel()
	d := mustRun(t, "security", "--quick", "--rounds", "1", "--arms", "unary-bare,unary-mtls,unary-signed,unary-jwt-every", "--set", "load.closed.calls=300")
	for _, arm := range d.Arms {
		if arm.Calls != 300 || arm.Failed() > 0 {
			t.Errorf("%s: %d calls, %d failed: %v", arm.Name, arm.Calls, arm.Failed(), arm.Samples)
		}
	}
}

// TestStudiesRunInPods runs one quick round of the studies that no other test runs in pods. The servers of ladder have a
// limit of CPU and memory, and those of streams their keys.
func TestStudiesRunInPods(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"chain", "--arms", "wire-go,grpc-go,rest-go"},
		{"ladder", "--arms", "rest-go,grpc-go"},
		{"streams", "--arms", "unary-10-flight,bidi-1-flight", "--set", "load.closed.calls=300"},
	} {
		t.Run(args[0], func(t *testing.T) {
			d := mustRun(t, append(args, "--quick", "--rounds", "1")...)
			for _, arm := range d.Arms {
				if arm.Calls == 0 || arm.Failed() > 0 {
					t.Errorf("%s: %d calls, %d failed: %v", arm.Name, arm.Calls, arm.Failed(), arm.Samples)
				}
			}
		})
	}
}
