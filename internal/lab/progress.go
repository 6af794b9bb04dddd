package lab

import (
	"sync"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// progress reports the progress of a run to its listener. It is safe for concurrent use.
type progress struct {
	listener func(Progress) // nil: none
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

// next reports the next trial, or the next step of a trial.
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

// during reports a change within the current step.
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

// durations estimates how long trials take. The estimate is the mean of the trials of the same arm
// and cell that have ended, or of all trials that have ended.
type durations struct {
	began time.Time // the current trial
	of    map[string]sum
	all   sum
}

// sum is the total time of trials, from the start of their servers to the end of their
// infrastructure.
type sum struct {
	total time.Duration
	n     int
}

func (s *sum) add(d time.Duration) { s.total, s.n = s.total+d, s.n+1 }

func (s sum) mean() time.Duration { return s.total / time.Duration(max(s.n, 1)) }

func armAndCell(t experiment.Trial) string { return t.Arm + "\n" + result.Cell(t.Cell).Key() }

// add records that a trial starts or has ended.
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
		d.began = now // of the next trial of a round whose arms took turns
	case p.Doing == "":
		d.began = now
	}
}

// left returns how long the remaining trials will take; 0: not known. Before the first trial has
// ended, it is known only for loads of a fixed duration.
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

// expected returns how long a trial will take; 0: not known.
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
