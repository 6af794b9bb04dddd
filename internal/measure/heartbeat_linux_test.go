package measure

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

func TestAStoppedProcessIsFrozenAndItsParentIsNot(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the child is stopped", func() bool { return isStopped(child.Process.Pid) })
	if isStopped(os.Getpid()) {
		t.Error("this process is stopped")
	}
}

// Even a thread that gets a processor at once waits for some nanoseconds.
func TestTheTimeThatThreadsWaitForAProcessorGrows(t *testing.T) {
	before := waitsForProcessor(os.Getpid())
	testkit.Await(t, "a thread has waited", func() bool {
		for thread, waited := range waitsForProcessor(os.Getpid()) {
			if earlier, known := before[thread]; known && waited > earlier {
				return true
			}
		}
		return false
	})
}
