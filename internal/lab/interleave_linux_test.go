package lab_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
)

// firstBackend keeps the first backend of the first deployment.
type firstBackend struct {
	cluster.Cluster
	once    sync.Once
	backend measure.Watched
}

func (c *firstBackend) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	d, err := c.Cluster.Deploy(ctx, spec)
	if err == nil {
		c.once.Do(func() { c.backend = d.(cluster.LocalProcesses).Processes()[0] })
	}
	return d, err
}

// A block is too short for a stall, so an arm is watched over all its blocks, and has each warning once.
func TestAStallIsThatOfAllBlocksOfItsArm(t *testing.T) {
	t.Parallel()
	o := options(t)
	c := &firstBackend{Cluster: o.Cluster}
	o.Cluster = c
	o.OtherRuns = func() []running.Run { return []running.Run{{PID: 7, Command: "rpclab run other"}} }
	loads := 0
	o.Phases = func(p lab.Phase) {
		if p.Name != lab.PhaseLoad {
			return
		}
		loads++
		signal := map[int]syscall.Signal{1: syscall.SIGSTOP, 19: syscall.SIGCONT}[loads]
		if err := syscall.Kill(c.backend.PID, signal); err != nil { // 0: no signal
			t.Error(err)
		}
	}
	doc := strings.NewReplacer("closed: {users: 5, duration: 200ms}", "open: {rate: 500, duration: 1s}", "  again: {control: shared}\n", "",
		"warmup: 10", "warmup: 10, timeout: 100ms", "rounds: 2", "rounds: 1").Replace(inTurns)
	d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	var frozen, shared []string
	for _, a := range d.Arms {
		for _, w := range a.Trials[0].MachineWarnings {
			switch w.Kind {
			case result.ProcessFrozen:
				frozen = append(frozen, a.Name+" "+w.Process)
			case result.MachineShared:
				shared = append(shared, a.Name)
			}
		}
	}
	if loads != 20 || !slices.Equal(frozen, []string{"shared " + c.backend.Name}) {
		t.Errorf("in %d blocks frozen are %q, want %s of the arm shared in 20", loads, frozen, c.backend.Name)
	}
	if !slices.Equal(shared, []string{"shared", "endpointslice"}) {
		t.Errorf("the arms that shared the machine are %q, want each once", shared)
	}
}

// Two arms that run at the same time on a machine that is never idle slow each other.
func TestABusyMachineIsNoPlaceForArmsSideBySide(t *testing.T) {
	t.Parallel()
	o := options(t)
	var readings atomic.Int64 // a second of CPU time is between two
	o.Processors = func() measure.ProcessorTimes {
		return measure.ProcessorTimes{Busy: time.Duration(readings.Add(1)) * time.Second}
	}
	doc := strings.Replace(inTurns, "design: interleaved", "design: side-by-side", 1)
	d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1, Arms: []string{"shared", "endpointslice"}}), o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.MachineWarnings, func(w result.MachineWarning) bool { return w.Kind == result.ArmsCrowded && w.Share == 1 }) {
		t.Errorf("the warnings about the machine are %+v, want one that it was busy", d.MachineWarnings)
	}
	for _, v := range d.Verdicts {
		if v.Decision != "undecided" || !v.Unfit {
			t.Errorf("the verdict on %s is %s, want none", v.Metric, v.Decision)
		}
	}
	for _, b := range d.Arms[0].Trials[0].Blocks {
		if b.Machine == nil || b.Machine.Others != nil {
			t.Errorf("a block has the interference %+v, want no other programs: the other arm would be one", b.Machine)
		}
	}
}
