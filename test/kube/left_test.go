package kube

import (
	"os/exec"
	"strings"
	"testing"

	spec "rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/testkit"
)

func TestAQuotaIsTheReason(t *testing.T) {
	bed(t)
	api, err := kubernetes.Connect(kubernetes.Where{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.New(t.Context(), api, kubernetes.Options{ID: "quota", Image: image(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	kubectl(t, "create", "quota", "few", "--hard=pods=1", "-n", "rpclab-quota")
	_, err = c.Deploy(t.Context(), spec.Spec{Name: "greeter", Replicas: 3})
	if err == nil {
		t.Fatal("3 pods came up where 1 may")
	}
	for _, want := range []string{"exceeded quota: few", "kubectl describe quota -n rpclab-quota"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
}

func TestARunThatIsKilledLeavesWhatTheNextOneRemoves(t *testing.T) {
	bed(t)
	image(t, "")
	c := exec.Command(testkit.Rpclab(t), "run", "channels", "--on", "kubernetes", "--quick", "--no-store")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var left string
	testkit.AwaitFor(t, patience, "a pod of the run", func() bool {
		found := namespaces(t)
		if len(found) == 1 {
			left = strings.TrimPrefix(found[0], "namespace/")
		}
		return left != "" && kubectl(t, "get", "pods", "-n", left, "-o", "name") != ""
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	if said := ran(t, testkit.Rpclab(t), "clean"); strings.Contains(said, left) {
		t.Errorf("it was removed while its lease ran:\n%s", said)
	}
	// As after the time of the lease.
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`)
	if said := ran(t, testkit.Rpclab(t), "clean"); !strings.Contains(said, left) {
		t.Errorf("what a run left that died is not removed:\n%s", said)
	}
	if found := namespaces(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}
