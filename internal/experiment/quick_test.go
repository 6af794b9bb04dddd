package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const long = `experiment: x
question: Which?
defaults:
  workload: {greet: {delay: 1ms}}
  load: {open: {rate: 10, duration: 46s}}
arms:
  a: {route: direct}
  b: {route: clusterip, load: {closed: {users: 3, duration: 30s}}}
sweep: {server.replicas: [3, 4]}
rounds: 20
events: [{at: 5s, scale: 10}, {at: 29999ms, kill: 1}]
`

// Without a quick block: 4 rounds of the first cell, loads of about 20 s in total, and events at the same
// share of them.
func TestQuickScalesAnyExperimentDown(t *testing.T) {
	p := mustExpand(t, long, Options{Quick: true})
	if p.Rounds != 4 || len(p.Cells) != 1 || p.Cells[0]["server.replicas"] != 3 {
		t.Errorf("%d rounds in cells %v, want 4 in the first cell", p.Rounds, p.Cells)
	}
	var load time.Duration
	for _, trial := range p.Trials {
		load += trial.Config.Load.duration()
		if first, all := trial.Events[0].At, trial.Config.Load.duration(); first < all/12 || first > all/5 {
			t.Errorf("the first event is at %s of %s, want at about a ninth", first, all)
		}
	}
	if load > 20100*time.Millisecond || load < 19*time.Second {
		t.Errorf("the loads last %s in total, want about 20 s", load)
	}
}

// Fewer arms have more time each.
func TestQuickDividesItsTimeAmongTheSelectedArms(t *testing.T) {
	p := mustExpand(t, long, Options{Quick: true, Arms: []string{"a"}})
	if got := p.Trials[0].Config.Load.Open.Duration; got != 5*time.Second {
		t.Errorf("the load lasts %s, want 5s: 20s in 4 rounds", got)
	}
}

// A pilot has as many rounds as show noise, and 4 s of load.
func TestAPilotIsShorterThanAQuickRun(t *testing.T) {
	p := mustExpand(t, long+"quick: {rounds: 1, load.open.duration: 30s}\n", Options{Quick: true, Pilot: true, Arms: []string{"a", "b"}})
	cells, load := len(p.Cells), p.LoadTime(p.Rounds)
	if p.Rounds != 4 || load > time.Duration(cells)*4100*time.Millisecond || load < 3*time.Second {
		t.Errorf("%d rounds with %s of load in %d cells, want 4 with about 4 s in each", p.Rounds, load, cells)
	}
}

func TestQuickSearchesAreShortAndImprecise(t *testing.T) {
	p := mustExpand(t, searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 5s}"), Options{Quick: true})
	got := p.Trials[0].Config.Load.Search
	if got.Duration != 625*time.Millisecond || got.Precision != 10 {
		t.Errorf("the search is %s with probes of %s, want 625ms and a precision of 10 %%", got, got.Duration)
	}
	p = mustExpand(t, searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 5s, precision: 20%}"), Options{Quick: true})
	if got := p.Trials[0].Config.Load.Search; got.Precision != 20 {
		t.Errorf("the search is %s, want its own precision of 20 %%", got)
	}
}

func TestQuickDoesNotChangeShortLoads(t *testing.T) {
	doc := strings.NewReplacer("46s", "100ms", "30s", "100ms", "29999ms", "90ms", "5s", "10ms").Replace(long)
	p := mustExpand(t, doc, Options{Quick: true})
	if got := p.Trials[0].Events[0].At; got != 10*time.Millisecond {
		t.Errorf("the event is at %s, want 10ms", got)
	}
}

func TestOptionsOverrideQuickSettings(t *testing.T) {
	doc := long + "quick: {rounds: 1, load.open.duration: 2s, events: [], sweep.server.replicas: [5]}\n"
	p := mustExpand(t, doc, Options{Quick: true, Arms: []string{"a"}, Set: []string{"load.open.duration=3s"}, Rounds: 2})
	c := p.Trials[0].Config
	if p.Rounds != 2 || c.Load.Open.Duration != 3*time.Second || c.Server.Replicas != 5 || len(p.Trials[0].Events) != 0 {
		t.Errorf("%d rounds, %s, %d replicas, events %v; want 2 rounds, 3s, 5 replicas and no events", p.Rounds, c.Load, c.Server.Replicas, p.Trials[0].Events)
	}
	if full := mustExpand(t, doc, Options{}); full.Rounds != 20 || len(full.Cells) != 2 {
		t.Errorf("without --quick the plan has %d rounds and %d cells, want 20 and 2", full.Rounds, len(full.Cells))
	}
}

func TestQuickScalesNumbersOfCallsDown(t *testing.T) {
	const doc = `
experiment: many
question: How many?
defaults: {workload: {greet: {delay: 100ms}}, route: direct, load: {sequence: 100000}}
arms: {one: {}}
rounds: 2
`
	p, err := Expand("many.yaml", []byte(doc), Options{Quick: true}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	if p.Rounds != 2 {
		t.Errorf("the quick plan has %d rounds, want 2 as in the document", p.Rounds)
	}
	if n := p.Trials[0].Config.Load.Sequence; n < 50 || n > 100 {
		t.Errorf("%d calls of 100ms in each of 2 rounds, want at most 20 s in total", n)
	}
}

func TestAPlanListsChangedSettings(t *testing.T) {
	const doc = `
experiment: changed
question: What?
defaults: {workload: {greet: {delay: 100ms}}, route: direct, load: {burst: 10}}
arms: {one: {}}
sweep: {load.burst: [1, 2]}
quick: {rounds: 4, sweep.load.burst: [1], workload.greet.delay: 5ms}
`
	p, err := Expand("x.yaml", []byte(doc), Options{Quick: true, Set: []string{"server.replicas=5", "rounds=6"}}, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"workload.greet.delay=5ms", "server.replicas=5"}, p.Changed); diff != "" {
		t.Error(diff)
	}
}
