package process

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

func TestASignalDoesNotReachALaterProcessWithTheID(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	self := memberOf(sleep.Process.Pid)
	other := member{pid: self.pid, started: self.started + 1}
	if err := other.signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if len(family(other)) != 0 || len(family(self)) != 1 {
		t.Errorf("the process and its descendants are %v, those of an earlier process with the ID %v; want 1 and none", family(self), family(other))
	}
	if err := self.signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := sleep.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the process ended with %v, want SIGTERM alone", err)
	}
	if err := self.signal(syscall.SIGKILL); err != nil {
		t.Errorf("a signal to a process that has ended returned %v, want no error", err)
	}
}
