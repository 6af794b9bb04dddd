package process

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

// A server that sudo had started belongs to root, so a run waited for its end for ever.
func TestKillDoesNotWaitForeverForAProcessOfAnotherUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const none = 1 << 30 // no process has this ID
		p := &Process{cmd: &exec.Cmd{Process: &os.Process{Pid: none}}, done: make(chan struct{})}
		began := time.Now()
		p.Kill()
		<-p.Done()
		if took := time.Since(began); took != killTimeout || !errors.Is(p.Err(), ErrAlive) || p.CPU() != 0 {
			t.Errorf("after %v it ended with %v, want an error after %v", took, p.Err(), killTimeout)
		}
		p.end(nil, nil) // it ends later
		if p.Err() == nil {
			t.Error("the error is lost")
		}
	})
}
