package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// Options are what a run needs besides its plan.
type Options struct {
	Cluster cluster.Cluster
	Kind    string   // of the cluster: local
	Self    []string // this program, whose commands the parts of routes are
	// Remote says that callers reach nothing that stands on this machine: what stands before
	// the backends does so in processes of the cluster.
	Remote bool
	// Store keeps every trial as soon as it is measured; nil: nothing is kept.
	Store *result.Store
	// Progress hears of every trial before it starts, once a second while its load goes on,
	// and when it has ended, from one goroutine at a time; may be nil.
	Progress func(Progress)
	// Command is the command line that makes such a run, for the record; empty: not known.
	Command string
	// ID is the run's; empty: drawn.
	ID string
	// Kubernetes is the version of the cluster's; empty: it is none.
	Kubernetes string
	Nodes      []result.Node // of that cluster; none: they may not be seen
	MaxFiles   uint64        // open files that one process may have
	// Processors says what the processors have done so far; nil: [measure.LookAtProcessors].
	Processors func() measure.Processors
}

// Progress is where a run stands.
type Progress struct {
	Trial   experiment.Trial
	Planned int           // trials in all
	Ended   *result.Trial // nil: it starts now, or is under way
	Doing   string        // a part of the trial that starts now; empty: the whole
	Live    *Live         // of a load that goes on; nil: none does, or not for a second yet
	Event   *result.Event // what was done to the cluster just now, when, to whom; nil: nothing
	Began   time.Time     // of the run
	Left    time.Duration // that the rest of the run will take, by what has run; 0: not known yet
}

// Run measures every trial of the plan, in its order, and returns the result.
//
// When ctx ends, or a server cannot be started, the result holds what was measured
// until then, is marked partial, and comes with the error.
func Run(ctx context.Context, plan experiment.Plan, o Options) (result.Document, error) {
	if !o.Remote { // else other machines have to have them
		if err := errors.Join(checkTools(plan), checkFiles(plan, o.MaxFiles)); err != nil {
			return result.Document{}, err
		}
	}
	if o.Processors == nil {
		o.Processors = measure.LookAtProcessors
	}
	l := &lab{Options: o, plan: plan, doc: header(plan, o)}
	l.doc.Machine.Tools = map[string]string{}
	if !o.Remote {
		var err error
		if l.doc.Machine.Tools, err = versions(ctx, plan); err != nil {
			return result.Document{}, err
		}
	}
	if err := l.buildLanguages(ctx); err != nil {
		return result.Document{}, err
	}
	if err := l.begin(ctx); err != nil {
		return result.Document{}, err
	}
	var failed error
	for _, t := range plan.Trials {
		l.progress(t, nil, "")
		trial, err := l.measure(ctx, t)
		if err != nil {
			failed = fmt.Errorf("round %d, arm %s: %w", t.Round, t.Arm, err)
			if trial.Capacity != nil { // a search that was interrupted
				failed = errors.Join(failed, l.keep(t, trial))
			}
			break
		}
		if failed = l.keep(t, trial); failed != nil {
			break
		}
		l.progress(t, &trial, "")
		if l.decided(t) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		failed = err // whatever failed, failed because of it
	}
	failed = errors.Join(failed, l.release())
	finished := time.Now().UTC()
	l.doc.Finished, l.doc.Partial = &finished, failed != nil
	l.doc = Assemble(l.doc)
	return l.doc, errors.Join(failed, l.notRun(), l.finish())
}

// lab is one run in progress.
type lab struct {
	Options
	programs
	plan experiment.Plan
	doc  result.Document

	secrets
	servers cluster.Deployment // of the last trial, when they may serve the next
	serve   string             // what they were deployed for

	telling sync.Mutex
	told    Progress // last, without Live and Event
	pace    estimate
}

func (l *lab) begin(ctx context.Context) error {
	if l.Store == nil {
		return nil
	}
	return l.Store.Begin(ctx, l.doc)
}

// keep takes a trial into the document and the store. Configuration files of an arm are
// kept once: those of other trials differ in addresses.
func (l *lab) keep(t experiment.Trial, trial result.Trial) error {
	arm := l.arm(t)
	if slices.ContainsFunc(arm.Trials, func(earlier result.Trial) bool { return len(earlier.Files) > 0 }) {
		trial.Files = nil
	}
	arm.Trials = append(arm.Trials, trial)
	if l.Store == nil {
		return nil
	}
	// What was measured is kept even when the run was interrupted just now.
	return l.Store.AddTrial(context.Background(), l.doc.ID, *arm, trial)
}

func (l *lab) finish() error {
	if l.Store == nil {
		return nil
	}
	return l.Store.Finish(context.Background(), l.doc)
}

func (l *lab) arm(t experiment.Trial) *result.Arm {
	key := result.Cell(t.Cell).Key()
	for i := range l.doc.Arms {
		if arm := &l.doc.Arms[i]; arm.Name == t.Arm && arm.Cell.Key() == key {
			return arm
		}
	}
	return nil // cannot be: header made an arm for every trial
}

func (l *lab) progress(t experiment.Trial, ended *result.Trial, doing string) {
	if l.Progress == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	l.told = Progress{Trial: t, Planned: len(l.plan.Trials), Ended: ended, Doing: doing, Began: l.doc.Started}
	l.pace.saw(l.told, time.Now())
	l.told.Left = l.pace.left(l.plan, l.told, time.Now())
	l.Progress(l.told)
}

// live tells of the load that goes on.
func (l *lab) live(now Live) { l.beside(func(p *Progress) { p.Live = &now }) }

// happened tells of an event that was done.
func (l *lab) happened(e result.Event) { l.beside(func(p *Progress) { p.Event = &e }) }

// beside tells of something while what was told last goes on.
func (l *lab) beside(add func(*Progress)) {
	if l.Progress == nil {
		return
	}
	l.telling.Lock()
	defer l.telling.Unlock()
	p := l.told
	p.Left = l.pace.left(l.plan, p, time.Now())
	add(&p)
	l.Progress(p)
}
