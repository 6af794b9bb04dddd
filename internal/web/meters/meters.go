// Package meters exports a run in progress to Prometheus: calls by arm, code and backend, their
// latency, and the progress of the run.
package meters

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// Meters counts the current or last run.
type Meters struct {
	mu      sync.Mutex
	run     []string // ID and experiment; nil before the first run
	plan    struct{ planned, done int }
	left    float64 // seconds; 0: not known
	running bool
	arms    map[arm]*counts
	now     arm
}

// arm is an arm in a cell.
type arm struct{ name, cell string }

// counts are those of finished trials, and of the current trial so far. At the end of a trial its
// exact result replaces the counts of its seconds.
type counts struct {
	finished, current tally
	events            map[string]uint64
}

type tally struct {
	failed, backends  map[string]uint64 // failed by code, of which there may be [failure.MaxCodes]
	answered, dropped uint64
	latency           buckets
}

func newTally() tally {
	return tally{failed: map[string]uint64{}, backends: map[string]uint64{}, latency: newBuckets()}
}

// New returns meters without a run.
func New() *Meters { return &Meters{} }

// Begin starts a run and removes the one before it.
func (m *Meters) Begin(plan experiment.Plan, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run, m.running, m.left, m.now = []string{id, plan.Name}, true, 0, arm{}
	m.plan.planned, m.plan.done = len(plan.Trials), 0
	m.arms = map[arm]*counts{}
	// Every series exists from the start, because rate() of Prometheus misses the first value.
	for _, t := range plan.Trials {
		m.counts(t)
	}
}

func (m *Meters) counts(t experiment.Trial) *counts {
	key := arm{t.Arm, result.Cell(t.Cell).String()}
	if m.arms[key] == nil {
		m.arms[key] = &counts{finished: newTally(), current: newTally(), events: map[string]uint64{}}
	}
	return m.arms[key]
}

// Show records progress of the run.
func (m *Meters) Show(p lab.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = arm{p.Trial.Arm, result.Cell(p.Trial.Cell).String()}
	m.left = p.Left.Seconds()
	switch {
	case p.Event != nil:
		m.counts(p.Trial).events[string(p.Event.Action)]++
	case p.Live != nil:
		of := p.Trial
		of.Arm = p.Live.Arm
		m.counts(of).current.addLive(*p.Live)
	case p.Ended != nil:
		c := m.counts(p.Trial)
		m.plan.done++
		whole := c.current
		// The trial of a search contains only one probe, but the calls of all probes count.
		if p.Ended.Failed == "" && p.Ended.Capacity == nil {
			whole = newTally()
			whole.addTrial(*p.Ended)
		}
		c.finished.add(whole)
		c.current = newTally()
	}
}

// End marks the end of the run; its values stay.
func (m *Meters) End(result.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running, m.left = false, 0
}

func (t *tally) addLive(l lab.Live) {
	for id, n := range l.Backends {
		t.backends[id] += n
	}
	failure.AddCounts(t.failed, l.Errors)
	t.dropped += l.Dropped
	if l.Latency != nil {
		t.answered += uint64(l.Latency.TotalCount())
		t.latency.record(l.Latency)
	}
}

func (t *tally) addTrial(of result.Trial) {
	answered := of.Calls
	for _, n := range of.Errors {
		answered -= min(n, answered)
	}
	t.answered += answered
	failure.AddCounts(t.failed, of.Errors)
	for id, n := range of.Backends {
		t.backends[id] += n
	}
	t.dropped += of.Dropped
	if h, err := of.Answers().Decode(); err == nil && h != nil {
		t.latency.record(h)
	}
}

func (t *tally) add(other tally) {
	failure.AddCounts(t.failed, other.failed)
	for id, n := range other.backends {
		t.backends[id] += n
	}
	t.answered, t.dropped = t.answered+other.answered, t.dropped+other.dropped
	t.latency.add(other.latency)
}

// Handler serves the metrics.
func (m *Meters) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
