package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// State is the state of the current or last run. Later states contain only the trials and seconds
// that the client does not have.
type State struct {
	// Phase is idle (no run since the server started), running, stopping, done, partial (stopped,
	// with its measurements stored) or failed.
	Phase string     `json:"phase"`
	Why   string     `json:"why,omitempty"` // reason of partial and failed
	Run   *liveRun   `json:"run"`           // nil: idle
	Now   *liveTrial `json:"now"`           // nil: no trial has begun
	LeftS *float64   `json:"left_s"`        // estimated remaining seconds; nil: not known
	Done  int        `json:"done"`          // trials
	// Trials are the finished trials from FromTrial on; Seconds are those of the current trial
	// from FromSecond on.
	FromTrial  int             `json:"from_trial"`
	Trials     []finishedTrial `json:"trials"`
	FromSecond int             `json:"from_second"`
	Seconds    []second        `json:"seconds"`
	// Answer is the answer of the run in one sentence; Verdicts are the verdicts behind it.
	Answer   string      `json:"answer,omitempty"`
	Verdicts []judged    `json:"verdicts"`
	Queue    []queuedRun `json:"queue"`
	// FailedRuns failed before runs that were queued behind them, the newest last.
	FailedRuns []failedRun `json:"failed_runs"`

	load       int  // counts the loads of the run, to which Now and Seconds belong
	sideBySide bool // loads of arms run at the same time
}

// judged is a verdict, with the values of both arms where their ratio says nothing.
type judged struct {
	result.Verdict
	Values string `json:"values,omitempty"` // "64 % against none"
}

type liveRun struct {
	ID         string    `json:"id"`
	Experiment string    `json:"experiment"`
	Question   string    `json:"question"`
	Started    time.Time `json:"started"`
	Rounds     int       `json:"rounds"`
	Planned    int       `json:"planned"` // trials
	Quick      bool      `json:"quick"`
	Arms       []string  `json:"arms"`
}

// liveTrial is the current or last trial.
type liveTrial struct {
	Order    int               `json:"order"`
	Round    int               `json:"round"`
	Arm      string            `json:"arm"`
	Cell     string            `json:"cell,omitempty"`
	Doing    string            `json:"doing,omitempty"` // current step of the trial
	Backends map[string]uint64 `json:"backends"`        // calls per backend
	Errors   map[string]uint64 `json:"errors"`          // calls that failed, by code
	Dropped  uint64            `json:"dropped"`
	Events   []event           `json:"events"`

	loads  map[string]liveLoad // the last of each arm
	base   float64             // second at which the last loads begin
	end    float64             // the last second
	failed uint64              // calls of all loads
}

// liveLoad is a load in progress.
type liveLoad struct {
	number int
	base   float64 // second at which it begins
	failed uint64  // calls so far
}

type event struct {
	AtMS  float64  `json:"at_ms"`
	What  string   `json:"what"`
	Hit   []string `json:"hit"`
	Error string   `json:"error,omitempty"`
}

// second describes one second of the load of an arm. Percentiles are those of the answered calls alone, in ms; null
// without a response. Failed counts the calls of all arms of the trial until then.
type second struct {
	At     float64  `json:"at_s"`
	Arm    string   `json:"arm"`
	Rate   float64  `json:"rate"`
	P50    *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
	Failed uint64   `json:"failed"`
}

// finishedTrial is a finished trial. Percentiles are those of all calls that were due, in ms.
type finishedTrial struct {
	Order  int      `json:"order"`
	Round  int      `json:"round"`
	Arm    string   `json:"arm"`
	Cell   string   `json:"cell,omitempty"`
	Calls  uint64   `json:"calls"`
	Rate   float64  `json:"rate"`
	P50    *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
	Failed uint64   `json:"failed"`         // calls that failed or were dropped
	Lost   float64  `json:"lost,omitempty"` // share of the calls: percentiles above 1 - lost are lower bounds
	// ByName are the calls of a mix or a flow; empty: the trial made one call.
	ByName []namedCalls `json:"calls_by_name,omitempty"`
	Why    string       `json:"why,omitempty"` // why it has no measurement
}

// namedCalls are the calls of one name in a trial.
type namedCalls struct {
	Name   string   `json:"name"`
	Calls  uint64   `json:"calls"` // due
	Failed uint64   `json:"failed"`
	P50    *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
	Lost   float64  `json:"lost,omitempty"`
}

// live holds the state and notifies its followers.
type live struct {
	mu      sync.Mutex
	state   State // with all trials and all seconds
	cancel  context.CancelFunc
	changed chan struct{} // closed when the state changes
	closed  bool          // the server ends
	done    chan struct{} // closed then
}

func newLive() *live {
	return &live{
		state:   State{Phase: "idle", Trials: []finishedTrial{}, Seconds: []second{}, Verdicts: []judged{}, Queue: []queuedRun{}, FailedRuns: []failedRun{}},
		changed: make(chan struct{}), done: make(chan struct{}),
	}
}

// change changes the state and notifies its followers.
func (l *live) change(do func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(&l.state)
	close(l.changed)
	l.changed = make(chan struct{})
}

// close ends all connections of followers.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
}

func (l *live) setCancel(stop context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = stop
}

// stop stops the run with the ID if it is in progress.
func (l *live) stop(id string) (was bool) {
	l.change(func(s *State) {
		if s.Run == nil || s.Run.ID != id || s.Phase != "running" && s.Phase != "stopping" {
			return
		}
		s.Phase, was = "stopping", true
		l.cancel()
	})
	return was
}

func (l *live) setQueue(all []queuedRun) { l.change(func(s *State) { s.Queue = all }) }

// Begin shows a run that has no trial yet.
func (l *live) Begin(plan experiment.Plan, id string) {
	run := &liveRun{ID: id, Experiment: plan.Name, Question: plan.Question, Started: time.Now().UTC(),
		Rounds: plan.Rounds, Planned: len(plan.Trials), Quick: plan.Quick}
	for _, arm := range plan.Arms {
		run.Arms = append(run.Arms, arm.Name)
	}
	l.change(func(s *State) {
		*s = State{Phase: "running", Run: run, Trials: []finishedTrial{}, Seconds: []second{}, Verdicts: []judged{}, Queue: s.Queue, FailedRuns: s.FailedRuns, sideBySide: plan.Design == experiment.SideBySide}
	})
}

// Show records progress of the run.
func (l *live) Show(p lab.Progress) {
	l.change(func(s *State) {
		if s.Now == nil || s.Now.Order != p.Trial.Order || p.Live == nil && p.Event == nil && p.Ended == nil && p.Doing == "" {
			s.Now = &liveTrial{Order: p.Trial.Order, Round: p.Trial.Round, Arm: p.Trial.Arm, Cell: result.Cell(p.Trial.Cell).String(),
				Backends: map[string]uint64{}, Errors: map[string]uint64{}, Events: []event{}}
			s.Seconds = []second{}
			s.load++
		}
		now := s.Now.copied() // a follower may still read the old one
		s.Now, s.LeftS, now.Doing = now, nil, p.Doing
		if p.Left > 0 {
			left := p.Left.Seconds()
			s.LeftS = &left
		}
		switch {
		case p.Event != nil:
			now.Events = append(now.Events, event{p.Event.AtMS, p.Event.What, append([]string{}, p.Event.Affected...), result.ShortenPaths(p.Event.Error)})
		case p.Live != nil:
			s.Seconds = append(s.Seconds, now.addSecond(*p.Live, s.sideBySide))
		case p.Ended != nil:
			now.Backends, now.Errors, now.Dropped = orEmpty(p.Ended.Backends), orEmpty(p.Ended.Errors), p.Ended.Dropped
			s.Trials = append(s.Trials, newFinishedTrial(p))
			s.Done = len(s.Trials)
		}
	})
}

func (c liveTrial) copied() *liveTrial {
	c.Backends, c.Errors, c.Events, c.loads = maps.Clone(c.Backends), maps.Clone(c.Errors), slices.Clone(c.Events), maps.Clone(c.loads)
	return &c
}

// addSecond adds the counts of one second to those of the trial. The loads of a search, or of arms that take turns, follow
// each other. Side by side, the arms of a cycle begin at the same time. No second is before the one that arrived last.
func (c *liveTrial) addSecond(l lab.Live, sideBySide bool) second {
	for id, n := range l.Backends {
		c.Backends[id] += n
	}
	failure.AddCounts(c.Errors, l.Errors)
	c.Dropped += l.Dropped
	load, begun := c.loads[l.Arm]
	if !begun || load.number != l.Load {
		if !sideBySide || begun && load.base == c.base { // the last loads have ended
			c.base = c.end
		}
		load = liveLoad{number: l.Load, base: c.base}
	}
	c.failed += l.Failed - load.failed
	load.failed = l.Failed
	if c.loads == nil {
		c.loads = map[string]liveLoad{}
	}
	c.loads[l.Arm] = load
	c.end = max(c.end, load.base+l.Elapsed.Seconds())
	s := second{At: c.end, Arm: l.Arm, Rate: l.Rate, Failed: c.failed}
	if l.P99 > 0 {
		s.P50, s.P99 = ms(l.P50), ms(l.P99)
	}
	return s
}

func newFinishedTrial(p lab.Progress) finishedTrial {
	e := finishedTrial{Order: p.Trial.Order, Round: p.Trial.Round, Arm: p.Trial.Arm, Cell: result.Cell(p.Trial.Cell).String(),
		Calls: p.Ended.Calls, Rate: p.Ended.Rate, Failed: p.Ended.Measures.Failed() + p.Ended.Dropped, Why: result.ShortenPaths(p.Ended.Failed)}
	if latency := p.Ended.Latency.Bounded(); !latency.Empty() {
		e.P50, e.P99, e.Lost = &latency.P50, &latency.P99, latency.Lost
	}
	for _, name := range slices.Sorted(maps.Keys(p.Ended.ByName)) {
		c := p.Ended.ByName[name]
		n := namedCalls{Name: name, Calls: c.Due, Failed: c.Due - c.Answered}
		if latency := c.Latency.Bounded(); !latency.Empty() {
			n.P50, n.P99, n.Lost = &latency.P50, &latency.P99, latency.Lost
		}
		e.ByName = append(e.ByName, n)
	}
	return e
}

func ms(d time.Duration) *float64 { return new(float64(d) / float64(time.Millisecond)) }

func orEmpty(counts map[string]uint64) map[string]uint64 {
	if counts == nil {
		return map[string]uint64{}
	}
	return counts
}

// End records the end of the run and its verdicts.
func (l *live) End(d result.Document, err error) {
	l.change(func(s *State) {
		s.Phase, s.Why = endPhase(d, err)
		s.LeftS = nil
		if d.ID == "" {
			return
		}
		d = result.WithoutPaths(d)
		s.Answer = report.Answer(d)
		for _, v := range d.Verdicts {
			if !v.Secondary && v.Kind.AnswersQuestion() {
				if v.Cell == nil {
					v.Cell = result.Cell{}
				}
				all := judged{Verdict: v, Values: report.ValuesOf(d, v)}
				if v.OfLostCalls() {
					all.Values = "–"
				}
				s.Verdicts = append(s.Verdicts, all)
			}
		}
	})
}

// queuedRun is a run in the queue.
type queuedRun struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	Planned    int    `json:"planned"`
}

// maxFailed is how many failed runs are kept.
const maxFailed = 8

// failedRun is a run that failed.
type failedRun struct {
	ID         string `json:"id"`
	Experiment string `json:"experiment"`
	Why        string `json:"why"`
}

// keepFailed keeps the last run, if it failed, for the time when the state is that of the next.
func (l *live) keepFailed() {
	l.change(func(s *State) {
		if s.Phase == "failed" && s.Run != nil {
			all := append(slices.Clone(s.FailedRuns), failedRun{s.Run.ID, s.Run.Experiment, s.Why})
			s.FailedRuns = all[max(0, len(all)-maxFailed):]
		}
	})
}

func (l *live) forgetFailed() { l.change(func(s *State) { s.FailedRuns = []failedRun{} }) }

// endPhase returns the phase of a run that ended, and why.
func endPhase(d result.Document, err error) (phase, why string) {
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return "failed", result.ShortenPaths(err.Error())
	case d.ID == "" && err != nil:
		return "partial", "The run was stopped before its first trial, so nothing was measured."
	case d.Partial || err != nil:
		return "partial", "The run was stopped before its last trial."
	}
	return "done", ""
}
