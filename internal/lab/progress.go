package lab

import (
	"sync"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// progress tells the run's listener how far the run is, from any goroutine.
type progress struct {
	listener func(Progress) // nil: there is none
	trials   []experiment.Trial
	start    time.Time // of the run

	mu        sync.Mutex
	last      Progress // without Live and Event
	durations durations
}

func newProgress(trials []experiment.Trial, start time.Time, listener func(Progress)) *progress {
	return &progress{listener: listener, trials: trials, start: start}
}

func (p *progress) began(t experiment.Trial)                      { p.next(t, nil, "") }
func (p *progress) doing(t experiment.Trial, step string)         { p.next(t, nil, step) }
func (p *progress) ended(t experiment.Trial, trial *result.Trial) { p.next(t, trial, "") }
func (p *progress) live(l Live)                                   { p.during(func(now *Progress) { now.Live = &l }) }
func (p *progress) performed(e result.Event)                      { p.during(func(now *Progress) { now.Event = &e }) }

// next tells of the next trial, or of the next step of one.
func (p *progress) next(t experiment.Trial, ended *result.Trial, doing string) {
	if p.listener == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = Progress{Trial: t, Planned: len(p.trials), Ended: ended, Doing: doing, Began: p.start}
	p.durations.add(p.last, time.Now())
	p.last.Left = p.durations.left(p.trials, p.last, time.Now())
	p.listener(p.last)
}

// during tells of something that happens within the current step.
func (p *progress) during(add func(*Progress)) {
	if p.listener == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.last
	now.Left = p.durations.left(p.trials, now, time.Now())
	add(&now)
	p.listener(now)
}

// durations estimates how long trials take from those that have ended: of the same arm in the
// same cell, else of all.
type durations struct {
	began time.Time // the trial that runs now
	of    map[string]sum
	all   sum
}

// sum is the time that some trials took together, from the start of their servers to the
// end of their infrastructure.
type sum struct {
	total time.Duration
	n     int
}

func (s *sum) add(d time.Duration) { s.total, s.n = s.total+d, s.n+1 }

func (s sum) mean() time.Duration { return s.total / time.Duration(max(s.n, 1)) }

func armAndCell(t experiment.Trial) string { return t.Arm + "\n" + result.Cell(t.Cell).Key() }

// add records that a trial begins or has ended.
func (d *durations) add(p Progress, now time.Time) {
	switch {
	case p.Ended != nil:
		if d.of == nil {
			d.of = map[string]sum{}
		}
		of := d.of[armAndCell(p.Trial)]
		of.add(now.Sub(d.began))
		d.of[armAndCell(p.Trial)] = of
		d.all.add(now.Sub(d.began))
	case p.Doing == "":
		d.began = now
	}
}

// left is how long the rest of the trials will take; 0: not known. Before the first trial has
// ended, it is known of loads of a fixed duration only.
func (d *durations) left(trials []experiment.Trial, p Progress, now time.Time) (rest time.Duration) {
	for _, t := range trials[p.Trial.Order:] {
		expected := d.expected(t)
		if expected == 0 {
			return 0
		}
		if t.Order == p.Trial.Order {
			if p.Ended != nil {
				continue
			}
			expected = max(expected-now.Sub(d.began), 0)
		}
		rest += expected
	}
	return rest
}

// expected is how long a trial will take; 0: not known.
func (d *durations) expected(t experiment.Trial) time.Duration {
	if same, ok := d.of[armAndCell(t)]; ok {
		return same.mean()
	}
	load := t.Config.Load
	switch {
	case load.Open != nil:
		return load.Open.Duration
	case load.Closed != nil && load.Closed.Calls == 0:
		return load.Closed.Duration
	}
	return d.all.mean()
}
