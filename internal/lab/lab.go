// Package lab is the conductor: it runs a plan trial by trial and returns the result. It
// alone knows all the rooms.
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
	"rpclab/internal/result"
)

// Run measures every trial of the plan, in its order, and returns the result.
//
// When ctx ends, or a server cannot be started, the result holds what was measured
// until then, is marked partial, and is returned with the error.
func Run(ctx context.Context, plan experiment.Plan, o Options) (result.Document, error) {
	trials, err := resolve(plan)
	if err != nil {
		return result.Document{}, err
	}
	r := &run{Options: o, plan: plan, trials: trials, doc: header(plan, trials, o)}
	if r.Processors == nil {
		r.Processors = measure.ReadProcessorTimes
	}
	if err := r.prepare(ctx); err != nil {
		return result.Document{}, err
	}
	failed := r.measureTrials(ctx)
	finished := time.Now().UTC()
	r.doc.Finished, r.doc.Partial = &finished, failed != nil
	r.doc = analysis.Assemble(r.doc)
	return r.doc, errors.Join(failed, r.programs.notRun(plan, trials), r.finish())
}

// run is one run in progress.
type run struct {
	Options
	plan     experiment.Plan
	trials   []trial
	doc      result.Document
	programs programs
	progress *progress
}

// prepare checks that this machine can run the plan, records the versions of the programs
// that it uses, builds the programs in other languages and begins the stored run.
func (r *run) prepare(ctx context.Context) (err error) {
	r.progress = newProgress(r.plan.Trials, r.doc.Started, r.Options.Progress)
	r.doc.Machine.Tools = map[string]string{}
	if !r.Remote { // else the cluster's machines need them
		if err := errors.Join(checkTools(r.trials), checkFiles(r.trials, r.MaxFiles)); err != nil {
			return err
		}
		if r.doc.Machine.Tools, err = toolVersions(ctx, r.trials); err != nil {
			return err
		}
	}
	if r.programs, err = buildPrograms(ctx, r.trials, r.Self, r.Remote, r.progress); err != nil {
		return err
	}
	if r.Store == nil {
		return nil
	}
	return r.Store.Begin(ctx, r.doc)
}

// measureTrials measures trials until all are, the verdicts are decided, or one fails for a
// reason that is not a finding.
func (r *run) measureTrials(ctx context.Context) (failed error) {
	c := newConductor(r.Options, r.plan.Seed, r.programs, r.progress, r.doc.Machine.Tools)
	for _, t := range r.trials {
		r.progress.began(t.Trial)
		measured, err := c.measure(ctx, t)
		if err != nil {
			failed = fmt.Errorf("round %d, arm %s: %w", t.Round, t.Arm, err)
			if measured.Capacity != nil { // of a capacity search that was interrupted
				failed = errors.Join(failed, r.keep(t, measured))
			}
			break
		}
		if failed = r.keep(t, measured); failed != nil {
			break
		}
		r.progress.ended(t.Trial, &measured)
		if r.decided(t) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // whatever failed, failed because of it
	}
	return errors.Join(failed, c.release())
}

// keep adds a trial to the document and the store. Configuration files of an arm are
// kept once: those of other trials differ in addresses only.
func (r *run) keep(t trial, measured result.Trial) error {
	key := result.Cell(t.Cell).Key()
	i := slices.IndexFunc(r.doc.Arms, func(a result.Arm) bool { return a.Name == t.Arm && a.Cell.Key() == key })
	arm := &r.doc.Arms[i] // header made one for every trial
	if slices.ContainsFunc(arm.Trials, func(earlier result.Trial) bool { return len(earlier.Files) > 0 }) {
		measured.Files = nil
	}
	arm.Trials = append(arm.Trials, measured)
	if r.Store == nil {
		return nil
	}
	// What was measured is kept even when the run was interrupted just now.
	return r.Store.AddTrial(context.Background(), r.doc.ID, *arm, measured)
}

// decided ends a run that may end early (--until decided): after a trial that completes the
// rounds of a look, when [analysis.Decided]. The document then has the rounds that were made.
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
