package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/load"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// This file makes loads of `rpclab load TARGET`: on servers that run already, over connections that are open for all
// rounds, and from this process, which saves the time in which a caller starts.

// LoadPlan returns the plan of a load that is open: an experiment with one arm, the target.
func LoadPlan(l *load.Load) Plan {
	s := l.Settings()
	plan := Plan{
		Plan: experiment.Plan{
			Name: load.Experiment, Question: l.Question(), Rounds: l.Rounds(), Seed: s.Seed, Baseline: l.Name(),
			Arms: []experiment.Arm{{Name: l.Name()}}, Cells: []map[string]any{nil},
		},
		target: &target{l, load.SelfTest},
	}
	config := experiment.Config{Load: experiment.Load{Search: s.Search}}
	for n := range plan.Rounds {
		one := experiment.Trial{Order: n, Round: n + 1, Arm: l.Name(), Config: config, Seed: s.Seed + uint64(n)}
		plan.Trials = append(plan.Trials, one)
		plan.trials = append(plan.trials, trial{Trial: one, target: plan.target})
	}
	return plan
}

// runAtTarget runs one trial at a target. After an interrupt it returns what was measured, with the error.
func (r *trialRunner) runAtTarget(ctx context.Context, t trial) (measured result.Trial, err error) {
	measured = newTrial(t)
	if t.Round == 1 {
		if measured.WarmUp, err = r.warmUpTarget(ctx, t); err != nil {
			return measured, err
		}
	}
	if t.Config.Load.Search != nil {
		probe := func(ctx context.Context, o loadRequest) (result.Trial, error) {
			plan, err := o.Pace.Pace()
			if err != nil {
				return measured, err
			}
			seen, err := r.loadTarget(ctx, t, measured, plan, o.Limit)
			if err != nil {
				return measured, err // without the calls of a probe that did not end
			}
			return seen, nil
		}
		return searchCapacity(ctx, t.Trial, measured, probe, func(step string) { r.progress.doing(t.Trial, step) })
	}
	plan, err := t.target.Pace(t.Round)
	if err != nil {
		return measured, err
	}
	r.progress.measuring()
	return r.loadTarget(ctx, t, measured, plan, 0)
}

// warmUpTarget makes calls that are not measured: a number of them, then those of the load until it is steady. The
// result is nil if the second was not asked for.
func (r *trialRunner) warmUpTarget(ctx context.Context, t trial) (*result.WarmUp, error) {
	first, plan := t.target.WarmUp()
	if first.Calls > 0 {
		r.progress.doing(t.Trial, "warming up")
		end := r.progress.phase(t.Trial, PhaseWarmUp)
		_, _, err := t.target.Client().Run(ctx, first, measure.StartSignal{})
		if end(err); err != nil {
			return nil, fmt.Errorf("warm-up: %w", err)
		}
	}
	var steady *result.WarmUp
	if atMost := t.target.Settings().WarmupMax; atMost > 0 && ctx.Err() == nil {
		r.progress.doing(t.Trial, "warming up until rate and latency are steady")
		end := r.progress.phase(t.Trial, PhaseSettle)
		w, err := warmUpUntilSteady(ctx, t.target.Client(), plan, atMost)
		if end(err); err != nil {
			return nil, err
		}
		steady = &w
	}
	return steady, ctx.Err()
}

// loadTarget makes one load and adds what it measured to a trial. It cancels calls in flight after a limit; 0: none.
func (r *trialRunner) loadTarget(ctx context.Context, t trial, measured result.Trial, plan pace.Pace, limit time.Duration) (result.Trial, error) {
	to, limited := t.target, ctx
	if limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	interrupt := make(chan time.Time, 1)
	unwatch := context.AfterFunc(ctx, func() { interrupt <- time.Now() })
	defer unwatch()
	live := newLiveTotals(1, r.progress.liveOf(t.Arm))
	r.loads++
	live.load = r.loads
	signal := measure.StartSignal{OnSnapshot: func(s measure.Snapshot) {
		var named map[string]uint64 // as in the result
		for id, n := range s.Backends {
			add(&named, to.BackendName(id), n)
		}
		s.Backends = named
		live.add(0, s)
	}}
	servers, known := to.ServerProcesses()
	var watched []measure.Watched
	for _, pid := range servers {
		watched = append(watched, measure.Watched{Name: fmt.Sprintf("the server (process %d)", pid), PID: pid})
	}
	endMachine := watchMachine(r.otherRuns, func() []measure.Watched { return watched })
	endProcessors := r.watchProcessors(servers, known)
	endPhase := r.progress.phase(t.Trial, PhaseLoad)
	recorder, started, err := to.Client().Run(limited, plan, signal)
	endPhase(err)
	machine, warnings := endProcessors(), endMachine()
	if err != nil {
		return measured, err
	}
	seen, err := recorder.Measurement()
	if err != nil {
		return measured, err
	}
	seen.Started = started
	if seen.MaxRSS, err = measure.MaxRSS(os.Getpid()); err != nil {
		return measured, err
	}
	var interrupted time.Time
	if !unwatch() {
		interrupted = <-interrupt
	}
	measured = to.Trial(measured, seen, interrupted)
	measured.Machine, measured.MachineWarnings = machine, warnings
	return measured, ctx.Err()
}

// minMachineTime is the length of the shortest load of which the CPU time of other programs is known: the
// kernel counts the times of processors in steps of 10 ms.
const minMachineTime = 500 * time.Millisecond

// watchProcessors measures the CPU time that other programs use during a load: neither rpclab nor the processes of
// the server on this machine, if they are known. The returned function ends that; nil: not known.
func (r *trialRunner) watchProcessors(servers []int, known bool) (end func() *result.Interference) {
	pids := append([]int{os.Getpid()}, servers...)
	own, err := measure.TreesCPU(pids...)
	processors, began := r.processors(), time.Now()
	return func() *result.Interference {
		passed := r.processors().Since(processors)
		ownNow, errNow := measure.TreesCPU(pids...)
		if !known || err != nil || errNow != nil || time.Since(began) < minMachineTime {
			return nil
		}
		return analysis.Interference(passed, ownNow-own)
	}
}

// complete assembles the document and adds what only the load knows, and the limits of the load generator, which it
// measures unless an interrupt or an error ended the load.
func (t *target) complete(ctx context.Context, d result.Document, measuring func() (end func(error))) (result.Document, error) {
	var own *load.SelfTestResult
	var err error
	why := "because of the interrupt"
	switch {
	case d.Partial && ctx.Err() == nil:
		why = "because an error ended the load"
	case !d.Partial:
		end := measuring()
		own, err = t.selfTest(ctx, t.Probe())
		end(err)
		switch {
		case ctx.Err() != nil:
			own, err = nil, nil // the load itself is complete
		case err != nil:
			own, why, err = nil, fmt.Sprintf("because the self-test failed: %v", err), fmt.Errorf("measure the generator itself: %w", err)
		}
	}
	return t.Complete(analysis.Assemble(d), own, why), err
}
