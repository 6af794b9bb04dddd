package measure

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"rpclab/internal/process"
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
		tree = process.Tree(parent.Process.Pid)
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

func TestTheCPUTimeOfOthersIsWithoutThisProcess(t *testing.T) {
	child := exec.Command("sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	testkit.Await(t, "the child uses CPU time", func() bool {
		used, err := OthersCPU(child.Process.Pid)
		return err == nil && used > 50e6
	})
	if used, err := OthersCPU(os.Getpid()); err != nil || used != 0 {
		t.Errorf("this process used %v (%v) besides itself, want 0", used, err)
	}
	parent := os.Getppid() // of this process, which uses more CPU time than the parent
	before, err := OthersCPU(parent)
	own, errOwn := TreesCPU(parent, os.Getpid())
	if err != nil || errOwn != nil || own-before < 50e6 {
		t.Errorf("the parent used %v (%v) without this process, and %v (%v) with it", before, err, own, errOwn)
	}
}
