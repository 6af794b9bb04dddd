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

// groupsHere are the control groups that clusters of a process made, wherever they may.
func groupsHere(pid int) (found []string) {
	for _, home := range slices.Concat(measure.OwnCgroups("cpu"), measure.OwnCgroups("memory")) {
		dirs, _ := filepath.Glob(filepath.Join(home, fmt.Sprintf("rpclab-servers-%d-*", pid)))
		found = append(found, dirs...)
	}
	return found
}

func bounds(t *testing.T, d cluster.Deployment) string {
	t.Helper()
	how := d.(cluster.ResourceLimits).LimitMechanism()
	if !strings.HasPrefix(how, "cgroup v") {
		t.Fatalf("limits are kept by %q: run the tests as root, with /sys/fs/cgroup writable", how)
	}
	return how
}

func TestAServerThatTakesMoreThanItsMemoryIsNamedAsSuch(t *testing.T) {
	c := newCluster(t, local.Options{})
	_, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 1, Memory: 8 << 20})
	if want := "server greeter-0 was OOMKilled: its memory limit is 8Mi; raise server.memory"; err == nil || err.Error() != want {
		t.Errorf("it says %v, want %s", err, want)
	}
}

func TestAQuotaOfCPUIsKeptAndItsWaitsAreCounted(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 1, CPUs: 0.1, Memory: 256 << 20})
	bounds(t, d)
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(ready(d)[0].Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testkit.Await(t, "calls that take more than a tenth of a processor wait for it", func() bool {
		if _, err := rpclabv1.NewFibonacciClient(conn).Compute(t.Context(), &rpclabv1.FibonacciRequest{N: 100_000}); err != nil {
			t.Fatal(err)
		}
		used := d.Usage()["greeter-0"]
		return used.Throttled > 0 && used.Charged > 1<<20 && used.Charged <= 256<<20
	})
	if now := d.(cluster.ResourceLimits).ResidentMemory(); now < 1<<20 {
		t.Errorf("%d bytes are in memory", now)
	}
}

func TestNoControlGroupOutlivesItsCluster(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 2, Memory: 256 << 20})
	bounds(t, d)
	if len(groupsHere(os.Getpid())) == 0 {
		t.Fatal("there are none")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left := groupsHere(os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestControlGroupsOfAKilledRunAreSweptUp(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	pid := gone.Process.Pid
	left := filepath.Join(measure.OwnCgroups("cpu")[0], fmt.Sprintf("rpclab-servers-%d-1", pid))
	if err := os.MkdirAll(filepath.Join(left, "greeter-0.1"), 0o755); err != nil {
		t.Fatal(err)
	}
	newCluster(t, local.Options{})
	if left := groupsHere(pid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestWhereThereAreNoControlGroupsServersArePinned: to as many processors, with what their
// runtime can do.
func TestWhereThereAreNoControlGroupsServersArePinned(t *testing.T) {
	c := newCluster(t, local.Options{NoCgroups: true})
	before := children(t)
	d := deploy(t, c, cluster.Spec{Replicas: 1, CPUs: 1, Memory: 256 << 20, RuntimeEnv: []string{"GOMEMLIMIT=268435456"}})
	if how := d.(cluster.ResourceLimits).LimitMechanism(); how != "pinned" {
		t.Errorf("limits are kept by %q", how)
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
			t.Errorf("it may run on %s; its environment is %q", allowed, environment)
		}
	}
}
