// Package lab runs a plan trial by trial and returns the result. It alone imports the packages of
// clusters, routes and callers together.
//
// A trial passes through these files:
//   - resolve.go looks up the names in the plan; check.go finds out whether this machine can run it.
//   - lab.go runs the trials in order and adds each to the document and the store.
//   - trial.go runs one trial: it starts servers, callers and infrastructure, and warms the callers up.
//   - load.go makes a load; events.go performs its events, and recorders.go records the cluster.
//     capacitysearch.go makes several loads.
//   - package analysis summarizes what was recorded.
//
// Each caller is a process: callergroup.go and callerprocess.go control the callers,
// callersession.go runs in them, and callermessages.go has the messages between both.
// Proxies, control planes and gateways are children of this process (localinfrastructure.go) or run
// in the cluster (remoteinfrastructure.go, infrastructuresession.go, infrastructuremessages.go).
package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
)

// Run measures every trial of the plan in order and returns the result.
//
// When ctx ends or a server cannot start, Run returns the result so far, marked partial, with the
// error.
func Run(ctx context.Context, plan Plan, o Options) (result.Document, error) {
	r := &run{Options: o, plan: plan, doc: header(plan.Plan, plan.trials, o)}
	if r.Processors == nil {
		r.Processors = measure.ReadProcessorTimes
	}
	if r.OtherRuns == nil {
		r.OtherRuns = func() []running.Run { return nil }
	}
	if err := r.prepare(ctx); err != nil {
		return result.Document{}, err
	}
	failed := r.measureTrials(ctx)
	finished := time.Now().UTC()
	r.doc.Finished, r.doc.Partial = &finished, failed != nil
	r.doc = analysis.Assemble(r.doc)
	return r.doc, errors.Join(failed, r.programs.notRun(plan.Plan, plan.trials), r.finish())
}

// run is a run in progress.
type run struct {
	Options
	plan     Plan
	doc      result.Document
	programs programs
	progress *progress
}

// prepare checks that this machine can run the plan, records the versions of the programs that the
// plan uses, builds the programs in other languages and creates the run in the store.
func (r *run) prepare(ctx context.Context) (err error) {
	r.progress = newProgress(r.plan.Trials, r.doc.Started, r.Options.Progress)
	r.doc.Machine.Tools = map[string]string{}
	if !r.Remote { // else the pods' images contain the tools
		if err := errors.Join(checkTools(r.plan.trials), checkFiles(r.plan.trials, r.MaxFiles)); err != nil {
			return err
		}
		if r.doc.Machine.Tools, err = toolVersions(ctx, r.plan.trials); err != nil {
			return err
		}
	}
	if r.programs, err = buildPrograms(ctx, r.plan.trials, r.Self, r.Remote, r.progress); err != nil {
		return err
	}
	if r.Store == nil {
		return nil
	}
	return r.Store.Begin(ctx, r.doc)
}

// measureTrials measures trials until all are measured, the verdicts are decided, or rpclab itself
// fails.
func (r *run) measureTrials(ctx context.Context) (failed error) {
	runner := newTrialRunner(r.Options, r.plan.Seed, r.programs, r.progress, r.doc.Machine.Tools)
	if r.plan.Design != experiment.Isolated {
		return r.measureCells(ctx, runner)
	}
	for _, t := range r.plan.trials {
		r.progress.began(t.Trial)
		measured, err := runner.runTrial(ctx, t)
		if err != nil {
			failed = fmt.Errorf("round %d, arm %s: %w", t.Round, t.Arm, err)
			if measured.Capacity != nil { // an interrupted capacity search
				failed = errors.Join(failed, r.addTrial(t, measured))
			}
			break
		}
		if failed = r.addTrial(t, measured); failed != nil {
			break
		}
		r.progress.ended(t.Trial, &measured)
		if r.decided(t) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // the interrupt is the cause of any other error
	}
	return errors.Join(failed, runner.release())
}

// measureCells measures cell after cell, each with all its arms up at the same time, until its rounds are
// measured or its verdicts are decided.
func (r *run) measureCells(ctx context.Context, runner *trialRunner) (failed error) {
	for _, cell := range byCell(r.plan.trials) {
		if failed = r.measureCell(ctx, runner, cell); failed != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // the interrupt is the cause of any other error
	}
	return failed
}

// byCell returns the trials of each cell, by round.
func byCell(trials []trial) (cells [][][]trial) {
	for i, t := range trials {
		sameCell := i > 0 && result.Cell(t.Cell).Key() == result.Cell(trials[i-1].Cell).Key()
		if !sameCell {
			cells = append(cells, nil)
		}
		cell := &cells[len(cells)-1]
		if !sameCell || t.Round != trials[i-1].Round {
			*cell = append(*cell, nil)
		}
		round := &(*cell)[len(*cell)-1]
		*round = append(*round, t)
	}
	return cells
}

func (r *run) measureCell(ctx context.Context, runner *trialRunner, rounds [][]trial) (failed error) {
	in := runner.interleave(rounds[0], r.plan.Design)
	defer func() { failed = errors.Join(failed, in.close()) }()
	for n, round := range rounds {
		together := round[0].Trial
		together.Arm = "all arms in turns"
		r.progress.began(together)
		measured, err := in.round(ctx, round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round[0].Round, err)
		}
		for _, m := range measured {
			i := slices.IndexFunc(round, func(t trial) bool { return t.Order == m.Order })
			if err := r.addTrial(round[i], m); err != nil {
				return err
			}
			r.progress.ended(round[i].Trial, &m)
		}
		if last := len(rounds); slices.Contains(r.plan.Looks, round[0].Round) && n+1 < last && analysis.DecidedIn(r.doc, round[0].Cell) {
			r.doc.TrialCount -= (last - n - 1) * len(round)
			break
		}
	}
	return nil
}

// addTrial adds a trial to the document and the store. It stores the configuration files of an arm
// once: the files of other trials differ in addresses only.
func (r *run) addTrial(t trial, measured result.Trial) error {
	key := result.Cell(t.Cell).Key()
	i := slices.IndexFunc(r.doc.Arms, func(a result.Arm) bool { return a.Name == t.Arm && a.Cell.Key() == key })
	arm := &r.doc.Arms[i] // header added an arm for every trial
	if slices.ContainsFunc(arm.Trials, func(earlier result.Trial) bool { return len(earlier.Files) > 0 }) {
		measured.Files = nil
	}
	arm.Trials = append(arm.Trials, measured)
	if r.Store == nil {
		return nil
	}
	// The trial is stored even if the run has just been interrupted.
	return r.Store.AddTrial(context.Background(), r.doc.ID, *arm, measured)
}

// decided reports whether a run with --until decided ends after this trial. Such a run may end only at
// a look, that is after the last trial of certain rounds, and only if [analysis.Decided]. decided then
// sets the number of rounds in the document.
func (r *run) decided(t trial) bool {
	next := t.Order + 1
	if !slices.Contains(r.plan.Looks, t.Round) || next == len(r.plan.Trials) || r.plan.Trials[next].Round == t.Round {
		return false
	}
	if !analysis.Decided(r.doc) {
		return false
	}
	r.doc.Rounds, r.doc.TrialCount = t.Round, next
	return true
}

func (r *run) finish() error {
	if r.Store == nil {
		return nil
	}
	return r.Store.Finish(context.Background(), r.doc)
}
