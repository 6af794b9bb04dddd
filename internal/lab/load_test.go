package lab

import (
	"testing"
	"time"

	"rpclab/internal/cluster"
)

// localProcess is a process of this machine.
type localProcess struct{ pipeProcess }

func (*localProcess) Pid() int { return 1 }

// A program in another language needs time to read its load, in which its first call would be late.
func TestABlockOfAProgramInAnotherLanguageStartsAMomentLater(t *testing.T) {
	for name, ahead := range map[string]bool{"grpc-go": false, "command": false, "python-grpc-sync": true} {
		library, err := lookupLibrary(name)
		if err != nil {
			t.Fatal(err)
		}
		l := loader{block: true, trial: trial{library: library}, callers: &callerGroup{processes: []*callerProcess{{Caller: cluster.Caller{Process: &localProcess{}}}}}}
		before := time.Now()
		start, err := l.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after := time.Now()
		if early := start.Sub(after); ahead && start.Sub(before) < blockStartDelay || !ahead && early > 0 {
			t.Errorf("%s starts %v after it is asked, want a moment later: %t", name, start.Sub(before), ahead)
		}
	}
}
