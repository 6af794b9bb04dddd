package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// State is where the run stands that goes on, or that went on last. One that is sent after
// another has the trials and seconds that the other had not.
type State struct {
	// Phase is idle (none was since the server started), running, stopping, done, partial
	// (stopped, kept) or failed.
	Phase string   `json:"phase"`
	Why   string   `json:"why,omitempty"` // of partial and failed
	Run   *running `json:"run"`           // nil: idle
	Now   *current `json:"now"`           // nil: no trial has begun
	LeftS *float64 `json:"left_s"`        // seconds that the rest will take; nil: not known
	Done  int      `json:"done"`          // trials
	// Trials that ended are those from FromTrial on, Seconds of the trial that runs those from
	// FromSecond on.
	FromTrial  int      `json:"from_trial"`
	Trials     []ended  `json:"trials"`
	FromSecond int      `json:"from_second"`
	Seconds    []second `json:"seconds"`
	// Answer is the run's in one sentence, Verdicts those that it stands on.
	Answer   string           `json:"answer,omitempty"`
	Verdicts []result.Verdict `json:"verdicts"`
	Queue    []waiting        `json:"queue"`
}

type running struct {
	ID         string    `json:"id"`
	Experiment string    `json:"experiment"`
	Question   string    `json:"question"`
	Started    time.Time `json:"started"`
	Rounds     int       `json:"rounds"`
	Planned    int       `json:"planned"` // trials
	Quick      bool      `json:"quick"`
	Arms       []string  `json:"arms"`
}

// current is the trial that runs, or that ran last.
type current struct {
	Order    int               `json:"order"`
	Round    int               `json:"round"`
	Arm      string            `json:"arm"`
	Cell     string            `json:"cell,omitempty"`
	Doing    string            `json:"doing,omitempty"` // a part of it
	Backends map[string]uint64 `json:"backends"`        // calls answered by each
	Errors   map[string]uint64 `json:"errors"`          // calls that failed, by code
	Dropped  uint64            `json:"dropped"`
	Events   []event           `json:"events"`
}

type event struct {
	AtMS  float64  `json:"at_ms"`
	What  string   `json:"what"`
	Hit   []string `json:"hit"`
	Error string   `json:"error,omitempty"`
}

// second is what calls did in one of the load; times are in ms, null without an answer.
type second struct {
	At     float64  `json:"at_s"`
	Rate   float64  `json:"rate"`
	P50    *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
	Failed uint64   `json:"failed"`
}

// ended is a trial that is over.
type ended struct {
	Order  int      `json:"order"`
	Round  int      `json:"round"`
	Arm    string   `json:"arm"`
	Cell   string   `json:"cell,omitempty"`
	Calls  uint64   `json:"calls"`
	Rate   float64  `json:"rate"`
	P50    *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
	Failed uint64   `json:"failed"`        // calls that failed or were dropped
	Why    string   `json:"why,omitempty"` // it gave no measurement
}

// live holds the state and wakes those who follow it.
type live struct {
	mu      sync.Mutex
	state   State // with all trials and all seconds
	cancel  context.CancelFunc
	changed chan struct{} // closed when the state changes
	over    bool          // the server ends
	ended   chan struct{} // closed then
}

func newLive() *live {
	return &live{
		state:   State{Phase: "idle", Trials: []ended{}, Seconds: []second{}, Verdicts: []result.Verdict{}, Queue: []waiting{}},
		changed: make(chan struct{}), ended: make(chan struct{}),
	}
}

// change does something to the state and wakes who follows it.
func (l *live) change(do func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(&l.state)
	close(l.changed)
	l.changed = make(chan struct{})
}

// close ends every connection that follows.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.ended)
	}
}

func (l *live) stoppable(stop context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = stop
}

// stop ends the run of that id, if it goes on.
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

func (l *live) queued(all []waiting) { l.change(func(s *State) { s.Queue = all }) }

// Begin shows a run that has no trial yet.
func (l *live) Begin(plan experiment.Plan, id string) {
	run := &running{ID: id, Experiment: plan.Name, Question: plan.Question, Started: time.Now().UTC(),
		Rounds: plan.Rounds, Planned: len(plan.Trials), Quick: plan.Quick}
	for _, arm := range plan.Arms {
		run.Arms = append(run.Arms, arm.Name)
	}
	l.change(func(s *State) {
		*s = State{Phase: "running", Run: run, Trials: []ended{}, Seconds: []second{}, Verdicts: []result.Verdict{}, Queue: s.Queue}
	})
}

// Show takes how the run goes.
func (l *live) Show(p lab.Progress) {
	l.change(func(s *State) {
		if s.Now == nil || s.Now.Order != p.Trial.Order || p.Live == nil && p.Event == nil && p.Ended == nil && p.Doing == "" {
			s.Now = &current{Order: p.Trial.Order, Round: p.Trial.Round, Arm: p.Trial.Arm, Cell: result.Cell(p.Trial.Cell).String(),
				Backends: map[string]uint64{}, Errors: map[string]uint64{}, Events: []event{}}
			s.Seconds = []second{}
		}
		now := s.Now.copied() // who was sent the old one may still read it
		s.Now, s.LeftS, now.Doing = now, nil, p.Doing
		if p.Left > 0 {
			left := p.Left.Seconds()
			s.LeftS = &left
		}
		switch {
		case p.Event != nil:
			now.Events = append(now.Events, event{p.Event.AtMS, p.Event.What, append([]string{}, p.Event.Hit...), p.Event.Error})
		case p.Live != nil:
			s.Seconds = append(s.Seconds, now.take(*p.Live))
		case p.Ended != nil:
			now.Backends, now.Errors, now.Dropped = orEmpty(p.Ended.Backends), orEmpty(p.Ended.Errors), p.Ended.Dropped
			s.Trials = append(s.Trials, endedOf(p))
			s.Done = len(s.Trials)
		}
	})
}

func (c current) copied() *current {
	c.Backends, c.Errors, c.Events = maps.Clone(c.Backends), maps.Clone(c.Errors), slices.Clone(c.Events)
	return &c
}

// take adds a second's counts to those of the trial.
func (c *current) take(l lab.Live) second {
	for id, n := range l.Backends {
		c.Backends[id] += n
	}
	for code, n := range l.Errors {
		c.Errors[code] += n
	}
	c.Dropped += l.Dropped
	s := second{At: l.Elapsed.Seconds(), Rate: l.Rate, Failed: l.Failed}
	if l.P99 > 0 {
		s.P50, s.P99 = ms(l.P50), ms(l.P99)
	}
	return s
}

func endedOf(p lab.Progress) ended {
	e := ended{Order: p.Trial.Order, Round: p.Trial.Round, Arm: p.Trial.Arm, Cell: result.Cell(p.Trial.Cell).String(),
		Calls: p.Ended.Calls, Rate: p.Ended.Rate, Failed: p.Ended.Measures.Failed() + p.Ended.Dropped, Why: p.Ended.Failed}
	if !p.Ended.Latency.Empty() {
		e.P50, e.P99 = &p.Ended.Latency.P50, &p.Ended.Latency.P99
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

// End shows how the run ended, and what it says.
func (l *live) End(d result.Document, err error) {
	l.change(func(s *State) {
		s.Phase, s.Why = over(d, err)
		s.LeftS = nil
		if d.ID == "" {
			return
		}
		s.Answer = report.Answer(d)
		for _, v := range d.Verdicts {
			if !v.Secondary && v.Kind == "baseline" {
				if v.Cell == nil {
					v.Cell = result.Cell{}
				}
				s.Verdicts = append(s.Verdicts, v)
			}
		}
	})
}
