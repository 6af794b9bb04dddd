package lab

import (
	"cmp"
	"sync"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// progress reports the progress of a run to its listener. It is safe for concurrent use.
type progress struct {
	listener func(Progress) // nil: none
	phases   func(Phase)    // nil: none
	plan     experiment.Plan
	start    time.Time // of the run

	mu        sync.Mutex
	first     time.Time // when the first trial began, from which a time limit counts
	last      Progress  // without Live and Event
	durations durations
}

func newProgress(plan experiment.Plan, start time.Time, listener func(Progress)) *progress {
	return &progress{listener: listener, plan: plan, start: start}
}

func (p *progress) began(t experiment.Trial)                      { p.next(t, nil, "") }
func (p *progress) doing(t experiment.Trial, step string)         { p.next(t, nil, step) }
func (p *progress) ended(t experiment.Trial, trial *result.Trial) { p.next(t, trial, "") }
func (p *progress) performed(e result.Event)                      { p.during(func(now *Progress) { now.Event = &e }) }

// liveOf reports the seconds of loads of an arm.
func (p *progress) liveOf(arm string) func(Live) {
	return func(l Live) {
		l.Arm = arm
		p.during(func(now *Progress) { now.Live = &l })
	}
}

// measuring says that the steps before the load of a trial have ended. The next report is without them.
func (p *progress) measuring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last.Doing = ""
}

// next reports the next trial, or the next step of a trial.
func (p *progress) next(t experiment.Trial, ended *result.Trial, doing string) {
	if p.listener == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.last = Progress{Trial: t, Ended: ended, Doing: doing, Began: p.start}
	p.durations.add(p.last, now)
	if p.first.IsZero() && doing == "" {
		p.first = now
	}
	p.last.Planned, p.last.Left = p.rest(p.last, now)
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
	now.Planned, now.Left = p.rest(now, time.Now())
	add(&now)
	p.listener(now)
}

// phase reports a phase once end is called, with its error or nil.
func (p *progress) phase(t experiment.Trial, name string) (end func(error)) {
	began := time.Now()
	return func(err error) { p.endedPhase(Phase{Name: name, Trial: t, Began: began, Err: err}) }
}

// endedPhase reports a phase that ends now.
func (p *progress) endedPhase(phase Phase) {
	if p.phases == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	phase.Ended = time.Now()
	p.phases(phase)
}

// rest estimates the largest number of trials of the run, and the time that the remaining ones take; 0: not
// known.
func (p *progress) rest(at Progress, now time.Time) (planned int, left time.Duration) {
	planned, left = len(p.plan.Trials), p.durations.left(p.plan.Trials, at, now)
	if p.plan.TimeLimit == 0 {
		return planned, left
	}
	limit := p.plan.TimeLimit
	if !p.first.IsZero() {
		limit = max(0, limit-now.Sub(p.first))
	}
	if trial := p.durations.all.mean(); trial > 0 {
		planned = min(planned, at.Trial.Order+1+int(limit/trial))
	} else if len(p.plan.Looks) > 0 { // as many as a verdict needs
		planned = min(planned, planned/p.plan.Rounds*verdict.MinRounds)
	}
	if left == 0 || left > limit {
		left = limit
	}
	return planned, left
}

// durations estimates how long trials take. The estimate is the mean of the trials of the same arm
// and cell that have ended, or of all trials that have ended.
type durations struct {
	began time.Time // the current trial
	of    map[string]sum
	all   sum
	later later
}

// later is how long the trials after one take, by the estimate when a number of trials had ended. A run reports its
// progress many times in each trial, and may have many trials.
type later struct {
	order, ended int
	left         time.Duration
	known        bool // for every trial
	valid        bool
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
	order := p.Trial.Order
	expected := d.expected(trials[order])
	if l := d.later; !l.valid || l.order != order || l.ended != d.all.n {
		d.later = d.after(trials, order)
	}
	switch {
	case expected == 0 || !d.later.known:
		return 0
	case p.Ended == nil:
		rest = max(expected-now.Sub(d.began), 0)
	}
	return rest + d.later.left
}

// after estimates how long the trials after one take.
func (d *durations) after(trials []experiment.Trial, order int) later {
	l := later{order: order, ended: d.all.n, known: true, valid: true}
	for _, t := range trials[order+1:] {
		expected := d.expected(t)
		if expected == 0 {
			l.known = false
			break
		}
		l.left += expected
	}
	return l
}

// expected returns how long a trial will take; 0: not known.
func (d *durations) expected(t experiment.Trial) time.Duration {
	if same, ok := d.of[armAndCell(t)]; ok {
		return same.mean()
	}
	return cmp.Or(t.Config.Load.FixedDuration(), d.all.mean())
}
