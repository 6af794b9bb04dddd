package measure

import (
	"os/exec"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

func TestTheCPUTimeOfAProcessContainsThatOfItsChildren(t *testing.T) {
	parent := exec.Command("sh", "-c", "sh -c 'while :; do :; done' & wait")
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = syscall.Kill(-parent.Process.Pid, syscall.SIGKILL) // with its child
		_ = parent.Wait()
	}
	defer end()
	var tree []int
	testkit.Await(t, "the child uses CPU time", func() bool {
		tree = ProcessTree(parent.Process.Pid)
		all, err := TreesCPU(parent.Process.Pid)
		own, errOwn := CPU(parent.Process.Pid)
		return err == nil && errOwn == nil && all-own > 50e6
	})
	twice, err := TreesCPU(tree...)
	once, errOnce := TreesCPU(parent.Process.Pid)
	if err != nil || errOnce != nil || twice > once {
		t.Errorf("the parent with its child used %v (%v), and both named %v (%v), want the same, or more in the later reading", once, errOnce, twice, err)
	}
	end()
	if _, err := TreesCPU(parent.Process.Pid); err == nil {
		t.Error("the CPU time of a process that has ended has no error")
	}
}
