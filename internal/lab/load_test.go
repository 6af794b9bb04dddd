package lab

import (
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/pace"
)

// localProcess is a process of this machine.
type localProcess struct{ pipeProcess }

func (*localProcess) Pid() int { return 1 }

// A program in another language needs time to read its load, and a caller that has been asleep to make a call when it is
// due. In that time the first call would be late.
func TestABlockStartsAMomentLaterWhereItsFirstCallWouldBeLate(t *testing.T) {
	open, users := pace.Spec{Rate: &pace.Rate{PerSecond: 500, Duration: time.Second}}, pace.Spec{Closed: &pace.Closed{Users: 3, Calls: 50}}
	for _, c := range []struct {
		library string
		load    pace.Spec
		later   bool
	}{
		{"grpc-go", users, false}, {"grpc-go", open, true}, {"wire", open, true}, {"command", users, false}, {"python-grpc-sync", users, true}, {"python-grpc-sync", open, true},
	} {
		library, err := lookupLibrary(c.library)
		if err != nil {
			t.Fatal(err)
		}
		l := loader{block: true, trial: trial{library: library}, callers: &callerGroup{processes: []*callerProcess{{Caller: cluster.Caller{Process: &localProcess{}}}}}}
		before := time.Now()
		start, err := l.start(t.Context(), c.load)
		if err != nil {
			t.Fatal(err)
		}
		if after := time.Now(); c.later && start.Sub(before) < blockStartDelay || !c.later && start.After(after) {
			t.Errorf("%s, %+v: starts %v after it is asked, want a moment later: %t", c.library, c.load, start.Sub(before), c.later)
		}
	}
}
