package lab

import (
	"os"
	"slices"
	"strings"
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

// A backend that is deleted leaves as terminating, and its successor is not ready at first. One that is only not ready for
// a while is the same backend, and one that was leaving before the load belongs to an earlier change.
func TestBackendsThatOthersChangeAreNamed(t *testing.T) {
	set := func(all ...cluster.Endpoint) cluster.Snapshot { return cluster.Snapshot{Endpoints: all} }
	a, b, c := cluster.Endpoint{ID: "a", Serving: true}, cluster.Endpoint{ID: "b", Serving: true}, cluster.Endpoint{ID: "c", Serving: true}
	leaving, starting, unready := b, c, b
	leaving.Terminating, starting.Serving, unready.Serving = true, false, false
	for name, test := range map[string]struct {
		history []cluster.Snapshot
		want    string // part of the text; empty: none
	}{
		"no change":      {[]cluster.Snapshot{set(a, b)}, ""},
		"not ready":      {[]cluster.Snapshot{set(a, b), set(a, unready), set(a, b)}, ""},
		"leaves already": {[]cluster.Snapshot{set(a, leaving), set(a)}, ""},
		"replaced":       {[]cluster.Snapshot{set(a, b), set(a, leaving, starting), set(a, leaving, c), set(a, c)}, "(removed: b; added: c)"},
		"deleted":        {[]cluster.Snapshot{set(a, b), set(a)}, "(removed: b; added: none)"},
		"scaled":         {[]cluster.Snapshot{set(a), set(a, b, c)}, "(removed: none; added: b, c)"},
	} {
		got := changedByOthers(test.history)
		if (len(got) == 0) != (test.want == "") || !strings.Contains(strings.Join(got, ""), test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
