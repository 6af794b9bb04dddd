// Package lab runs a plan trial by trial and returns the result. It alone imports the packages of
// clusters, routes and callers together.
//
// A trial passes through these files:
//   - resolve.go looks up the names in the plan; check.go finds out whether this machine can run it.
//   - lab.go runs the trials in order and adds each to the document and the store; until.go decides
//     after each round whether the run ends.
//   - trial.go runs one trial: it starts servers, callers and infrastructure, and warms the callers up;
//     runner.go has what a run keeps from one trial to the next.
//   - load.go makes a load; events.go performs its events, and recorders.go records the cluster.
//     capacitysearch.go makes several loads.
//   - groups.go, interleave.go and blocks.go run arms that take turns; idlewatch.go measures an arm outside its turns.
//   - started.go starts callers and infrastructure for both. target.go makes the loads of `rpclab load ADDRESS`.
//   - service.go deploys a user's service, describe.go asks it for its methods, and faultproxy.go and proxychannels.go
//     measure the proxy that performs its faults.
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
	"maps"
	"slices"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// Run measures every trial of the plan in order and returns the result.
//
// When ctx ends or a server cannot start, Run returns the result so far, marked partial, with the
// error.
func Run(ctx context.Context, plan Plan, o Options) (result.Document, error) {
	var groups *result.Groups
	if !o.Remote {
		var err error
		if plan, groups, err = plan.Fit(o.FreeMemory, o.MaxFiles); err != nil {
			return result.Document{}, err
		}
	}
	r := &run{Options: o, plan: plan, doc: header(plan.Plan, plan.trials, o)}
	r.doc.Groups = groups
	r.arms = make(map[result.ArmKey]int, len(r.doc.Arms))
	for i, arm := range r.doc.Arms {
		r.arms[arm.Key()] = i
	}
	if r.Processors == nil {
		r.Processors = measure.ReadProcessorTimes
	}
	if r.FindTool == nil {
		r.FindTool = tool.Tool.Find
	}
	if r.OtherRuns == nil {
		r.OtherRuns = func() []running.Run { return nil }
	}
	if err := r.prepare(ctx); err != nil {
		return result.Document{}, err
	}
	failed := r.measureTrials(ctx)
	r.doc.Machine.Images = imageIDs(r.Cluster)
	if failed == nil {
		r.doc.Ended, r.doc.Rounds = r.ended, r.rounds
	}
	r.doc.Partial = failed != nil
	if r.plan.target != nil {
		last := r.plan.trials[len(r.plan.trials)-1].Trial
		var err error
		r.doc, err = r.plan.target.complete(ctx, r.doc, func() func(error) {
			r.progress.doing(last, "measuring the generator itself")
			return r.progress.phase(experiment.Trial{}, PhaseSelfTest)
		})
		failed = errors.Join(failed, err)
	} else {
		r.doc = analysis.Assemble(r.doc)
	}
	finished := time.Now().UTC()
	r.doc.Finished = &finished
	failed = errors.Join(failed, r.programs.notRun(plan.Plan, plan.trials))
	if !r.doc.Partial && r.Conditions != nil {
		r.doc = r.Conditions(r.doc)
	}
	err := r.finish()
	return r.doc, errors.Join(failed, err)
}

// run is a run in progress.
type run struct {
	Options
	plan     Plan
	doc      result.Document
	arms     map[result.ArmKey]int // indices in the document
	programs programs
	progress *progress
	ended    result.Ended // why the last series of rounds ended
	rounds   int          // of the longest series that ended
}

// prepare checks that this machine can run the plan, records the versions of the programs that the
// plan uses, builds the programs in other languages and creates the run in the store.
func (r *run) prepare(ctx context.Context) (err error) {
	r.progress = newProgress(r.plan.Plan, r.doc.Started, r.Options.Progress)
	r.progress.phases = r.Phases
	end := r.progress.phase(experiment.Trial{}, PhasePrepare)
	defer func() { end(err) }()
	r.doc.Machine.Tools = map[string]string{}
	var unavailable map[string]string
	if !r.Remote && !r.plan.AtTarget() { // else the pods' images contain the tools
		unavailable, err = checkTools(r.plan.trials, r.FindTool)
		if err := errors.Join(err, checkCommands(r.plan.trials), checkFiles(r.plan.trials, r.MaxFiles)); err != nil {
			return err
		}
		if r.doc.Machine.Tools, err = toolVersions(ctx, r.plan.trials); err != nil {
			return err
		}
	}
	if r.Remote {
		r.programs = inImage(r.plan.trials, r.MissingPrograms)
	} else if r.programs, err = buildPrograms(ctx, r.plan.trials, r.Self, r.progress); err != nil {
		return err
	}
	maps.Copy(r.programs.missing, unavailable)
	if r.Store == nil {
		return nil
	}
	return r.Store.Begin(ctx, r.doc)
}

// measureTrials measures trials until all are measured, the verdicts are decided, the time is over, or
// rpclab itself fails.
func (r *run) measureTrials(ctx context.Context) (failed error) {
	runner := newTrialRunner(r.Options, r.plan.Seed, r.programs, r.progress, r.doc.Machine.Tools)
	if r.plan.Design != experiment.Isolated && !r.plan.AtTarget() {
		return r.measureCells(ctx, runner)
	}
	end := newEnding(r.plan.Looks, r.plan.Rounds, r.plan.TimeLimit, time.Now())
	trialsInRound := len(r.plan.trials) / r.plan.Rounds
	for i, t := range r.plan.trials {
		r.progress.began(t.Trial)
		measured, err := runner.runTrial(ctx, t)
		r.doc.FaultProxies = runner.proxyCosts
		if err != nil {
			failed = fmt.Errorf("round %d, arm %s: %w", t.Round, t.Arm, err)
			// A load keeps, of an interrupted round, what was measured or why nothing was; an experiment says of how many
			// rounds its result is.
			why := t.keeps && measured.Failed != ""
			if measured.Capacity != nil || measured.Calls+measured.Dropped > 0 || why { // an interrupted search, or a load
				failed = errors.Join(failed, r.addTrials([]trial{t}, []result.Trial{measured}))
			}
			break
		}
		if failed = r.addTrials([]trial{t}, []result.Trial{measured}); failed != nil {
			break
		}
		r.progress.ended(t.Trial, &measured)
		if (i+1)%trialsInRound > 0 {
			continue
		}
		if why := end.after(t.Round, func() bool { return r.settled(nil, nil) }, time.Now()); why != "" {
			r.endSeries(why, t.Round, trialsInRound)
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // the interrupt is the cause of any other error
	}
	return errors.Join(failed, runner.release())
}

// measureCells measures cell after cell (or group after group of arms in it), each with all its arms up at the same
// time, until its rounds are measured, its verdicts are decided, or its share of the time is over. The cells that
// remain share the time that remains.
func (r *run) measureCells(ctx context.Context, runner *trialRunner) (failed error) {
	began := time.Now()
	cells, cycles := byCell(r.plan.trials), 0
	for i, cell := range cells {
		if cell[0][0].Group <= 1 {
			cycles = 0
		}
		limit := r.plan.TimeLimit
		if limit > 0 {
			limit = max((limit-time.Since(began))/time.Duration(len(cells)-i), 1)
		}
		if cycles, failed = r.measureCell(ctx, runner, cell, cycles, limit); failed != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // the interrupt is the cause of any other error
	}
	return failed
}

// byCell returns the trials of each cell, or of each group of arms in it, by round.
func byCell(trials []trial) (cells [][][]trial) {
	for i, t := range trials {
		sameCell := i > 0 && result.Cell(t.Cell).Key() == result.Cell(trials[i-1].Cell).Key() && t.Group == trials[i-1].Group
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

// measureCell measures the arms of a cell, or a group of them, after the cycles of earlier groups. It returns the
// number of all cycles.
func (r *run) measureCell(ctx context.Context, runner *trialRunner, rounds [][]trial, cycles int, limit time.Duration) (_ int, failed error) {
	end := newEnding(r.plan.Looks, len(rounds), limit, time.Now())
	in := runner.interleave(rounds[0], r.plan.Design)
	in.cycle = cycles
	var arms []string
	for _, t := range rounds[0] {
		arms = append(arms, t.Arm)
	}
	defer func() { failed = errors.Join(failed, in.close()) }()
	for _, round := range rounds {
		allArms := round[0].Trial
		allArms.Arm = "all arms in turns"
		r.progress.began(allArms)
		measured, err := in.round(ctx, round)
		end.started(in.began)
		matched := make([]trial, len(measured))
		for i, m := range measured {
			matched[i] = round[slices.IndexFunc(round, func(t trial) bool { return t.Order == m.Order })]
		}
		if err := r.addTrials(matched, measured); err != nil {
			return in.cycle, err
		}
		for i := range measured {
			r.progress.ended(matched[i].Trial, &measured[i])
		}
		if err != nil {
			return in.cycle, fmt.Errorf("round %d: %w", round[0].Round, err)
		}
		if why := end.after(round[0].Round, func() bool { return r.settled(round[0].Cell, arms) }, time.Now()); why != "" {
			r.endSeries(why, round[0].Round, len(round))
			break
		}
	}
	return in.cycle, nil
}

// settled reports whether the run may end or, with arms, leave their cell.
func (r *run) settled(cell result.Cell, arms []string) bool {
	switch {
	case r.Settled != nil:
		return r.Settled(r.doc, cell, arms)
	case arms == nil:
		return analysis.Decided(r.doc)
	}
	return analysis.DecidedIn(r.doc, cell, arms)
}

// endSeries records in the document that a series ended after a number of rounds. If the time limit ended any
// series, it ended the run; otherwise the number of rounds did.
func (r *run) endSeries(why result.Ended, rounds, trialsInRound int) {
	if r.ended != result.EndedTime && !(r.ended == result.EndedRounds && why == result.EndedDecided) {
		r.ended = why
	}
	r.rounds = max(r.rounds, rounds)
	r.doc.TrialCount -= (r.plan.Rounds - rounds) * trialsInRound
}

// addTrials adds what was measured of trials to the document and the store. It stores the configuration files
// of an arm once: the files of other trials differ in addresses only.
func (r *run) addTrials(trials []trial, measured []result.Trial) error {
	var added []result.Arm
	for i, t := range trials {
		arm := &r.doc.Arms[r.arms[t.armKey()]] // header added an arm for every trial
		if slices.ContainsFunc(arm.Trials, func(earlier result.Trial) bool { return len(earlier.Files) > 0 }) {
			measured[i].Files = nil
		}
		arm.Trials = append(arm.Trials, measured[i])
		one := *arm
		one.Trials = measured[i : i+1]
		added = append(added, one)
	}
	if r.Store == nil || len(added) == 0 {
		return nil
	}
	// The trials are stored even if the run has just been interrupted.
	return r.Store.AddTrials(context.Background(), r.doc.ID, added...)
}

func (r *run) finish() error {
	if r.Store == nil {
		return nil
	}
	return r.Store.Finish(context.Background(), r.doc)
}
