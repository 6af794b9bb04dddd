package kube

import (
	"os/exec"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestARunThatIsKilledIsRemovedThoughNobodyComesBack(t *testing.T) {
	bed(t)
	image(t, "")
	c := exec.Command(testkit.Rpclab(t), "run", "channels", "--on", "kubernetes", "--quick", "--no-store")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var left string
	testkit.AwaitFor(t, patience, "the run's reaper", func() bool {
		if found := namespaces(t); len(found) == 1 {
			left = strings.TrimPrefix(found[0], "namespace/")
		}
		return left != "" && kubectl(t, "get", "pods", "-n", left, "-l", "rpclab/service=reaper",
			"--field-selector", "status.phase=Running", "-o", "name") != ""
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"leaseDurationSeconds":10}}`)
	testkit.AwaitFor(t, patience, "an end of what the run left", func() bool { return len(namespaces(t)) == 0 })
}
