package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// interleaving is the arms of one cell that are up at the same time. Their loads are cut into blocks. In
// each cycle every arm has one block.
type interleaving struct {
	runner     *trialRunner
	arms       []*interleavedArm
	turns      *turns
	blocks     int       // of each load
	cycle      int       // so far
	began      time.Time // the blocks of the present round
	sideBySide bool
}

// interleavedArm is an arm in its cell.
type interleavedArm struct {
	trial   trial              // of the present round
	servers cluster.Deployment // nil: not started
	started *startedTrial      // nil: not started
	before  result.Trial       // what is known before the load
}

// interleave prepares the arms of a cell. The trials are those of one round.
func (r *trialRunner) interleave(trials []trial, design string) *interleaving {
	in := &interleaving{runner: r, turns: newTurns(trials[0].Seed, len(trials)), sideBySide: design == experiment.SideBySide}
	for _, t := range trials {
		in.arms = append(in.arms, &interleavedArm{trial: t})
	}
	return in
}

// round runs the trials of one round: as many cycles as each load has blocks. It starts the arms that are not
// up. An error ends the run; the failure of an arm is a result. With the error of an interrupt, round returns
// the trials of the complete cycles, if there are any.
func (in *interleaving) round(ctx context.Context, trials []trial) ([]result.Trial, error) {
	for _, a := range in.arms {
		i := slices.IndexFunc(trials, func(t trial) bool { return t.Arm == a.trial.Arm })
		a.trial = trials[i] // a round has a trial of every arm
	}
	started, err := in.start(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range in.arms {
		if a.started != nil { // perhaps in an earlier round
			a.started.trial.Trial, a.started.loader.trial.Trial = a.trial.Trial, a.trial.Trial
		}
	}
	if err := in.rehearse(ctx, started); err != nil {
		return nil, err
	}
	in.runner.progress.measuring()
	in.began = time.Now()
	r := in.newRound()
	endFound := recordFound(in.servers()...)
	endProcessors := recordProcessors(in.runner.processors)
	var interrupt error
	for n := range in.blocks {
		in.cycle++
		if err := in.runCycle(ctx, r, n); err != nil {
			if ctx.Err() == nil || n == 0 {
				return nil, err
			}
			r.dropCycle(in.cycle)
			interrupt = err
			break
		}
	}
	processors, own := endProcessors()
	used, known := r.idle.total()
	found, foundKnown := endFound()
	for i, a := range in.arms {
		m := &r.measured[i]
		if a.started != nil {
			m.MachineWarnings = a.started.loader.blocks.warnings()
		}
		if m.Failed != "" {
			m.Lost = append(m.Lost, a.close()...) // the next round starts it again
			continue
		}
		m.IdleCPU = r.idle.share(i)
		if *m = analysis.MergeBlocks(*m, r.blocks[i]); known {
			m.Machine = withOthers(analysis.Interference(processors, own+used+found), foundKnown)
		}
	}
	return r.measured, interrupt
}

// servers returns those of all arms that are up.
func (in *interleaving) servers() (all []cluster.Deployment) {
	for _, a := range in.arms {
		all = append(all, a.servers) // may be nil
	}
	return all
}

// interleavedRound is a round in progress.
type interleavedRound struct {
	measured []result.Trial   // of each arm
	blocks   [][]result.Trial // of each arm
	idle     *idleWatch
}

func (in *interleaving) newRound() *interleavedRound {
	r := &interleavedRound{blocks: make([][]result.Trial, len(in.arms))}
	var cpu []func() (time.Duration, bool)
	for _, a := range in.arms {
		m := a.before
		m.Round, m.Group, m.Order, m.Started = a.trial.Round, a.trial.Group, a.trial.Order, time.Now().UTC()
		r.measured = append(r.measured, m)
		a.before.Lost = nil // this round reports them
		if a.started != nil {
			a.started.loader.blocks = newMachineWatch(in.runner.otherRuns, a.started.loader.processes)
		}
		cpu = append(cpu, a.cpu)
	}
	r.idle = newIdleWatch(cpu)
	return r
}

// dropCycle removes the blocks of a cycle that is not complete.
func (r *interleavedRound) dropCycle(cycle int) {
	for i, blocks := range r.blocks {
		r.blocks[i] = slices.DeleteFunc(blocks, func(b result.Trial) bool { return b.Round == cycle })
	}
}

// runCycle makes block n of every arm that has not failed in this round.
func (in *interleaving) runCycle(ctx context.Context, r *interleavedRound, n int) error {
	if in.sideBySide {
		group, ctx := errgroup.WithContext(ctx)
		for i := range in.arms {
			group.Go(func() error { return in.runBlock(ctx, r, i, n, 0) })
		}
		return group.Wait()
	}
	for place, i := range in.turns.next() {
		if err := in.runBlock(ctx, r, i, n, place); err != nil {
			return err
		}
	}
	return nil
}

// runBlock makes block n of arm i.
func (in *interleaving) runBlock(ctx context.Context, r *interleavedRound, i, n, place int) error {
	a, measured := in.arms[i], &r.measured[i]
	if measured.Failed != "" {
		return nil
	}
	addLost(measured, a.started.bed.failures()) // while other arms had their turn
	endTurn := r.idle.turn(i)
	block, err := a.started.loader.load(ctx, result.Trial{Started: time.Now().UTC(), Round: in.cycle, Order: place}, loadRequest{Pace: blockOf(a.trial.load, n, in.blocks)})
	endTurn()
	if err != nil {
		return fmt.Errorf("arm %s: %w", a.trial.Arm, err)
	}
	if block.Failed != "" {
		measured.Failed = block.Failed
		addLost(measured, append(block.Lost, a.started.bed.failures()...))
		return nil
	}
	r.blocks[i] = append(r.blocks[i], block)
	return nil
}

// start starts the arms that are not up, warms them up, and returns them. Their first calls, which mostly wait, are
// made at the same time.
func (in *interleaving) start(ctx context.Context) (started []*interleavedArm, err error) {
	for _, a := range in.arms {
		if a.started != nil {
			continue
		}
		in.runner.progress.doing(a.trial.Trial, "starting")
		if err := a.start(ctx, in.runner); err != nil {
			return nil, fmt.Errorf("arm %s: %w", a.trial.Arm, err)
		}
		if a.started != nil {
			a.started.loader.sideBySide = in.sideBySide
			started = append(started, a)
		}
	}
	var all errgroup.Group
	for _, a := range started {
		all.Go(func() (err error) {
			a.before, err = a.started.prepare(ctx, a.before)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	for _, a := range started {
		if a.before, err = a.started.warmUpUntilSteady(ctx, a.before); err != nil {
			return nil, err
		}
	}
	return started, nil
}

// start starts servers, callers and infrastructure of the arm, unless they cannot run.
func (a *interleavedArm) start(ctx context.Context, runner *trialRunner) (err error) {
	a.before = result.Trial{}
	if why := runner.builder.programs.missingFor(a.trial); why != "" {
		a.before.Failed = fmt.Sprintf("%v: %s", ErrNotRun, why)
		return nil
	}
	spec, err := runner.serverSpec(a.trial)
	if err != nil {
		return err
	}
	end := runner.progress.phase(a.trial.Trial, PhaseStartServers)
	a.servers, err = runner.builder.cluster.Deploy(ctx, spec)
	if end(err); err != nil {
		return err
	}
	if a.trial.job.Calls, err = runner.completeCalls(ctx, a.trial, a.servers); err != nil {
		return errors.Join(err, a.remove())
	}
	if a.started, err = runner.start(ctx, a.trial, a.servers); err != nil {
		return errors.Join(err, a.remove())
	}
	a.started.loader.block = true
	return nil
}

// rehearse runs one block of each arm that has just been started without measuring it, because first blocks are slower.
// The time of the first rehearsals decides how many blocks the loads have, unless that depends on no response.
func (in *interleaving) rehearse(ctx context.Context, started []*interleavedArm) error {
	blocks, most := 1, maxBlocks
	for _, a := range in.arms {
		most = min(most, mostBlocks(a.trial.Config.Load, part{}))
	}
	for _, a := range started {
		if a.before.Failed != "" {
			continue
		}
		in.runner.progress.doing(a.trial.Trial, "rehearsing")
		load := a.trial.Config.Load
		rehearsal := a.started.loader
		rehearsal.phase = PhaseRehearse
		first, err := rehearsal.load(ctx, result.Trial{}, loadRequest{Pace: blockOf(a.trial.load, 0, rehearsals(load))})
		if err != nil {
			return fmt.Errorf("arm %s: %w", a.trial.Arm, err)
		}
		a.before.Failed = first.Failed
		addLost(&a.before, append(first.Lost, a.started.bed.failures()...))
		seen := part{time.Duration(first.ElapsedMS * float64(time.Millisecond)), first.Calls}
		blocks, most = max(blocks, blockCount(load, seen)), min(most, mostBlocks(load, seen))
	}
	in.blocks = cmp.Or(in.blocks, min(blocks, most))
	return nil
}

// close ends callers, infrastructure and servers of the arm.
func (a *interleavedArm) close() (lost []string) {
	if a.started != nil {
		lost = a.started.close()
	}
	if err := a.remove(); err != nil {
		lost = append(lost, fmt.Sprintf("could not stop the servers: %v", err))
	}
	return lost
}

// remove ends the servers.
func (a *interleavedArm) remove() (err error) {
	if a.servers != nil {
		err = a.servers.Remove()
	}
	a.servers, a.started = nil, nil
	return err
}

// close ends all arms.
func (in *interleaving) close() error {
	var errs []error
	for _, a := range in.arms {
		if a.started != nil {
			a.started.close()
		}
		end := in.runner.progress.phase(a.trial.Trial, PhaseStopServers)
		err := a.remove()
		end(err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cpu returns the CPU time so far of the arm's processes; false: some are on other machines.
func (a *interleavedArm) cpu() (all time.Duration, known bool) {
	if a.started == nil || a.started.loader.remote {
		return 0, false
	}
	var pids []int
	for _, p := range a.started.loader.processes() {
		pids = append(pids, p.PID)
	}
	all, err := measure.TreesCPU(pids...)
	return all, err == nil
}
