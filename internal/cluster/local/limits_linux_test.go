package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

// groupsOf are the control groups that the clusters of a process created.
func groupsOf(pid int) (found []string) {
	for _, parent := range slices.Concat(measure.OwnCgroups("cpu"), measure.OwnCgroups("memory")) {
		dirs, _ := filepath.Glob(filepath.Join(parent, fmt.Sprintf("rpclab-servers-%d-*", pid)))
		found = append(found, dirs...)
	}
	return found
}

// needCgroups fails the test when control groups do not enforce the limits of d.
func needCgroups(t *testing.T, d cluster.Deployment) {
	t.Helper()
	if mechanism := d.(cluster.ResourceLimits).LimitMechanism(); !strings.HasPrefix(mechanism, "cgroup v") {
		t.Fatalf("the limits are enforced by %q, want cgroups: run the tests as root, with /sys/fs/cgroup writable", mechanism)
	}
}

func TestErrorNamesAServerThatExceedsItsMemory(t *testing.T) {
	c := newCluster(t, local.Options{})
	_, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 1, Memory: 4 << 20})
	if want := "server greeter-0 was OOMKilled: its memory limit is 4Mi; raise server.memory (rpclab lab up: --memory)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestCPUQuotaIsEnforcedAndThrottlingIsCounted(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 1, CPUs: 0.1, Memory: 256 << 20})
	needCgroups(t, d)
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(ready(d)[0].Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testkit.Await(t, "calls that need more than a tenth of a processor are throttled", func() bool {
		if _, err := rpclabv1.NewFibonacciClient(conn).Compute(t.Context(), &rpclabv1.FibonacciRequest{N: 100_000}); err != nil {
			t.Fatal(err)
		}
		used := d.Usage()["greeter-0"]
		return used.Throttled > 0 && used.Charged > 1<<20 && used.Charged <= 256<<20
	})
	if now := d.(cluster.ResourceLimits).ResidentMemory(); now < 1<<20 {
		t.Errorf("the resident memory is %d bytes, want a megabyte at least", now)
	}
}

func TestCloseRemovesControlGroups(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 2, Memory: 256 << 20})
	needCgroups(t, d)
	if len(groupsOf(os.Getpid())) == 0 {
		t.Fatal("the cluster has no control groups")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left := groupsOf(os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestNewClusterRemovesControlGroupsOfAKilledRun(t *testing.T) {
	exited := exec.Command("true")
	if err := exited.Run(); err != nil {
		t.Fatal(err)
	}
	pid := exited.Process.Pid
	left := filepath.Join(measure.OwnCgroups("cpu")[0], fmt.Sprintf("rpclab-servers-%d-1", pid))
	if err := os.MkdirAll(filepath.Join(left, "greeter-0.1"), 0o755); err != nil {
		t.Fatal(err)
	}
	newCluster(t, local.Options{})
	if left := groupsOf(pid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Without control groups, rpclab pins a server to as many processors as it may use, and its
// runtime limits its memory.
func TestServersArePinnedWithoutControlGroups(t *testing.T) {
	c := newCluster(t, local.Options{NoCgroups: true})
	before := children(t)
	d := deploy(t, c, cluster.Spec{Replicas: 1, CPUs: 1, Memory: 256 << 20, RuntimeEnv: []string{"GOMEMLIMIT=268435456"}})
	if mechanism := d.(cluster.ResourceLimits).LimitMechanism(); mechanism != "pinned" {
		t.Errorf("the limits are enforced by %q, want pinned", mechanism)
	}
	for _, pid := range children(t) {
		if slices.Contains(before, pid) {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		_, allowed, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		allowed, _, _ = strings.Cut(strings.TrimSpace(allowed), "\n")
		if strings.ContainsAny(allowed, ",-") || !strings.Contains(string(environment), "GOMEMLIMIT=268435456") {
			t.Errorf("the server may run on the processors %s, with the environment %q; want one processor and GOMEMLIMIT", allowed, environment)
		}
	}
}
