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

// Without a quick block: 4 rounds, the first cell, and loads that together stay
// near 20 s, with the events at the same parts of them.
func TestQuickShrinksAnyExperiment(t *testing.T) {
	p := mustExpand(t, long, Options{Quick: true})
	if p.Rounds != 4 || len(p.Cells) != 1 || p.Cells[0]["server.replicas"] != 3 {
		t.Errorf("%d rounds in cells %v", p.Rounds, p.Cells)
	}
	var load time.Duration
	for _, trial := range p.Trials {
		load += trial.Config.Load.duration()
		if first, all := trial.Events[0].At, trial.Config.Load.duration(); first < all/12 || first > all/5 {
			t.Errorf("scale at %s of %s", first, all)
		}
	}
	if load > 20100*time.Millisecond || load < 19*time.Second {
		t.Errorf("loads sum up to %s", load)
	}
}

// Fewer arms leave more time to each.
func TestQuickCountsTheArmsPicked(t *testing.T) {
	p := mustExpand(t, long, Options{Quick: true, Arms: []string{"a"}})
	if got := p.Trials[0].Config.Load.Open.Duration; got != 5*time.Second {
		t.Errorf("%s, want 20s over 4 rounds", got)
	}
}

// A search is made short and coarse.
func TestQuickMakesASearchCoarse(t *testing.T) {
	p := mustExpand(t, searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 5s}"), Options{Quick: true})
	got := p.Trials[0].Config.Load.Search
	if got.Duration != 625*time.Millisecond || got.Precision != 10 {
		t.Errorf("%s for %s", got, got.Duration)
	}
	p = mustExpand(t, searching("{slo: p99 < 5ms, from: 1, to: 9, duration: 5s, precision: 20%}"), Options{Quick: true})
	if got := p.Trials[0].Config.Load.Search; got.Precision != 20 {
		t.Errorf("%s", got)
	}
}

func TestQuickLeavesShortLoadsAlone(t *testing.T) {
	doc := strings.NewReplacer("46s", "100ms", "30s", "100ms", "29999ms", "90ms", "5s", "10ms").Replace(long)
	p := mustExpand(t, doc, Options{Quick: true})
	if got := p.Trials[0].Events[0].At; got != 10*time.Millisecond {
		t.Errorf("event at %s", got)
	}
}

// The options come after the quick settings and win over them.
func TestQuickThenSetThenRounds(t *testing.T) {
	doc := long + "quick: {rounds: 1, load.open.duration: 2s, events: [], sweep.server.replicas: [5]}\n"
	p := mustExpand(t, doc, Options{Quick: true, Arms: []string{"a"}, Set: []string{"load.open.duration=3s"}, Rounds: 2})
	c := p.Trials[0].Config
	if p.Rounds != 2 || c.Load.Open.Duration != 3*time.Second || c.Server.Replicas != 5 || len(p.Trials[0].Events) != 0 {
		t.Errorf("%d rounds, %s, %d replicas, events %v", p.Rounds, c.Load, c.Server.Replicas, p.Trials[0].Events)
	}
	if full := mustExpand(t, doc, Options{}); full.Rounds != 20 || len(full.Cells) != 2 {
		t.Errorf("quick settings changed the full run: %d rounds, %d cells", full.Rounds, len(full.Cells))
	}
}

func TestQuickMakesCountsSmallToo(t *testing.T) {
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
		t.Errorf("quick has %d rounds, the document 2", p.Rounds)
	}
	if n := p.Trials[0].Config.Load.Sequence; n < 50 || n > 100 {
		t.Errorf("2 rounds of %d calls of 100ms are not some 20 s", n)
	}
}

func TestAPlanSaysWhatWasChanged(t *testing.T) {
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
