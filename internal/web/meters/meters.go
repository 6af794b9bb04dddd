// Package meters shows a run to Prometheus as it happens: calls by arm, code and backend,
// their latency, and how far the run is.
package meters

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// Meters counts the run that goes on, or that went on last.
type Meters struct {
	mu   sync.Mutex
	run  []string // id and experiment; nil: none was
	plan struct{ planned, done int }
	left float64 // seconds; 0: not known
	on   bool
	arms map[arm]*counts
	now  arm
}

// arm is one in its cell.
type arm struct{ name, cell string }

// counts are of trials that ended, and of the one that runs as far as it was told: at its
// end the lab knows more exactly what was told each second, so that replaces it.
type counts struct {
	ended, now tally
	events     map[string]uint64
}

type tally struct {
	codes, backends map[string]uint64
	dropped         uint64
	latency         buckets
}

func newTally() tally {
	return tally{codes: map[string]uint64{}, backends: map[string]uint64{}, latency: newBuckets()}
}

// New makes meters of no run yet.
func New() *Meters { return &Meters{} }

// Begin forgets the run before.
func (m *Meters) Begin(plan experiment.Plan, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run, m.on, m.left, m.now = []string{id, plan.Name}, true, 0, arm{}
	m.plan.planned, m.plan.done = len(plan.Trials), 0
	m.arms = map[arm]*counts{}
	// Every series is there from the start: Prometheus' rate() sees only what grows in one.
	for _, t := range plan.Trials {
		m.of(t)
	}
}

func (m *Meters) of(t experiment.Trial) *counts {
	key := arm{t.Arm, result.Cell(t.Cell).String()}
	if m.arms[key] == nil {
		m.arms[key] = &counts{ended: newTally(), now: newTally(), events: map[string]uint64{}}
		m.arms[key].ended.codes[measure.OK] = 0
	}
	return m.arms[key]
}

// Show takes how the run goes.
func (m *Meters) Show(p lab.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.of(p.Trial)
	m.now = arm{p.Trial.Arm, result.Cell(p.Trial.Cell).String()}
	m.left = p.Left.Seconds()
	switch {
	case p.Event != nil:
		what, _, _ := strings.Cut(p.Event.What, " ")
		c.events[what]++
	case p.Live != nil:
		c.now.live(*p.Live)
	case p.Ended != nil:
		m.plan.done++
		whole := c.now
		// Of a search only the probe that counts is in the trial; all that were seen are calls.
		if p.Ended.Failed == "" && p.Ended.Capacity == nil {
			whole = newTally()
			whole.trial(*p.Ended)
		}
		c.ended.add(whole)
		c.now = newTally()
	}
}

// End says that the run is over; its figures stay.
func (m *Meters) End(result.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on, m.left = false, 0
}

func (t *tally) live(l lab.Live) {
	for id, n := range l.Backends {
		t.backends[id] += n
	}
	for code, n := range l.Errors {
		t.codes[code] += n
	}
	t.dropped += l.Dropped
	if l.Latency != nil {
		t.codes[measure.OK] += uint64(l.Latency.TotalCount())
		t.latency.take(l.Latency)
	}
}

func (t *tally) trial(of result.Trial) {
	answered := of.Calls
	for code, n := range of.Errors {
		t.codes[code] += n
		answered -= min(n, answered)
	}
	t.codes[measure.OK] += answered
	for id, n := range of.Backends {
		t.backends[id] += n
	}
	t.dropped += of.Dropped
	if h, err := of.Latency.Decode(); err == nil && h != nil {
		t.latency.take(h)
	}
}

func (t *tally) add(other tally) {
	for code, n := range other.codes {
		t.codes[code] += n
	}
	for id, n := range other.backends {
		t.backends[id] += n
	}
	t.dropped += other.dropped
	t.latency.add(other.latency)
}

// Handler answers Prometheus.
func (m *Meters) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
