package lab

import (
	"os"
	"slices"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/result"
)

func TestMemoryReadingsAreThinnedToEverySecondOne(t *testing.T) {
	if kept := everySecond([]uint64{1, 2, 3, 4, 5}); !slices.Equal(kept, []uint64{1, 3, 5}) {
		t.Errorf("kept %v", kept)
	}
}

// found is a service that runs already, in some processes of this machine.
type found struct {
	cluster.Deployment
	pids  []int
	known bool
}

func (f found) FoundProcesses() ([]int, bool) { return f.pids, f.known }

// Without the CPU time of a backend on this machine, that of other programs is not known.
func TestOtherProgramsAreNotKnownIfABackendIsNot(t *testing.T) {
	const none = 5_000_000 // Linux gives no process this id
	for name, c := range map[string]struct {
		servers cluster.Deployment
		known   bool
	}{
		"no backend here":            {found{known: true}, true},
		"one that rpclab started":    {struct{ cluster.Deployment }{}, true},
		"one that is known":          {found{pids: []int{os.Getppid()}, known: true}, true},
		"one of another user":        {found{pids: []int{os.Getppid()}}, false},
		"one that ended in the load": {found{pids: []int{none}, known: true}, false},
	} {
		end := recordFound(nil, c.servers)
		_, known := end()
		if i := withOthers(&result.Interference{Others: new(0.5)}, known); known != c.known || (i.Others != nil) != c.known {
			t.Errorf("%s: known %t, others %v; want known %t", name, known, i.Others, c.known)
		}
	}
}
