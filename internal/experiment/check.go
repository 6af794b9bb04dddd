package experiment

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"rpclab/internal/nearest"
	"rpclab/internal/result/assert"
)

// An experiment beyond these bounds is a slip of the pen.
const (
	maxArms    = 100
	maxConfigs = 10_000  // arms in all cells
	maxTrials  = 100_000 // and in all rounds
)

// checkNames: arms that are named must exist.
func (d *document) checkNames(e *Experiment, c *problems) {
	names := d.armNames()
	known := func(name string, path ...string) bool {
		if slices.Contains(names, name) {
			return true
		}
		c.add(d.place(path...), "no arm %q%s", name, nearest.Suggest(name, names))
		return false
	}
	if e.Baseline != "" {
		known(e.Baseline, "baseline")
	}
	for _, arm := range e.Arms {
		if arm.Against != "" && known(arm.Against, "arms", arm.Name, "against") && (arm.Against == arm.Name || arm.Control != "") {
			c.add(d.place("arms", arm.Name, "against"), "arm %s is compared with another arm; leave against out where control is set", arm.Name)
		}
		if arm.Control == "" || !known(arm.Control, "arms", arm.Name, "control") {
			continue
		}
		switch at := d.place("arms", arm.Name, "control"); {
		case arm.Control == arm.Name:
			c.add(at, "arm %s cannot be its own control", arm.Name)
		case e.Arms[index(e.Arms, arm.Control)].Control != "":
			c.add(at, "arm %s is a control itself: name the arm that it repeats", arm.Control)
		}
	}
	for i, f := range e.Confounds {
		at := d.root.get("confounds").values[i]
		for _, side := range []string{"published", "controlled"} {
			if name := at.get(side); !slices.Contains(names, name.text) {
				c.add(name.at, "no arm %q%s", name.text, nearest.Suggest(name.text, names))
			}
		}
		if i := index(e.Arms, f.Published); i >= 0 && e.Arms[i].Published == "" {
			c.add(at.get("published").at, "arm %s is not marked as published", f.Published)
		}
		if f.Published == f.Controlled {
			c.add(at.get("controlled").at, "a confound needs two arms, not %s twice", f.Published)
		}
	}
	for i, figure := range e.Published {
		if !slices.Contains(names, figure.Arm) {
			c.add(d.root.get("published").values[i].get("arm").at, "no arm %q%s", figure.Arm, nearest.Suggest(figure.Arm, names))
		}
	}
}

// checkAxes: no axis hides another one, or what an arm says itself.
func (d *document) checkAxes(e *Experiment, c *problems) {
	config := d.grammar.config
	for i, axis := range e.Sweep {
		at := d.root.get("sweep").pairs[i].at
		path := strings.Split(axis.Path, ".")
		for _, other := range e.Sweep[:i] {
			if n := nest(strings.Split(other.Path, "."), &node{}); cleared(config, n, path) == nil {
				c.add(at, "sweep %s and sweep %s exclude each other", axis.Path, other.Path)
			}
		}
		for _, arm := range e.Arms {
			own := d.own(arm.Name)
			if left := cleared(config, own, path); len(own.pairs) > 0 && !reflect.DeepEqual(left, own) {
				found, _ := own.find(path)
				c.add(found.at, "arm %s sets what sweep %s sets for every arm", arm.Name, axis.Path)
			}
		}
	}
}

// checkSize comes before anything is expanded.
func (d *document) checkSize(e *Experiment, c *problems) {
	configs := len(e.Arms)
	if configs > maxArms {
		c.add(d.place("arms"), "%d arms; an experiment has at most %d", configs, maxArms)
		return
	}
	for _, axis := range e.Sweep {
		if configs *= len(axis.Values); configs > maxConfigs {
			c.add(d.place("sweep"), "the sweep gives over %d combinations of arm and cell", maxConfigs)
			return
		}
	}
	if trials := configs * e.Rounds; trials > maxTrials {
		c.add(d.place("rounds"), "%d rounds give %d trials; an experiment has at most %d", e.Rounds, trials, maxTrials)
	}
}

// checkConfig: what one arm's fields say of each other.
func (d *document) checkConfig(config Config, n *node, c *problems) {
	if closed := config.Load.Closed; closed != nil && closed.Duration == 0 && closed.Calls == 0 {
		at, _ := n.find([]string{"load", "closed"})
		c.add(at.at, "load.closed needs duration or calls, to end")
	}
	if closed := config.Load.Closed; closed != nil && closed.Duration > 0 && closed.Ramp >= closed.Duration {
		at, _ := n.find([]string{"load", "closed", "ramp"})
		c.add(at.at, "load.closed.ramp, %s, has to end before duration, %s, or some users never begin", short(closed.Ramp), short(closed.Duration))
	}
	d.checkWay(config, n, c)
	d.checkShares(config, n, c)
	if search := config.Load.Search; search != nil {
		place := func(field string) place {
			at, _ := n.find([]string{"load", "search", field})
			return at.at
		}
		if _, err := assert.Parse(search.SLO); err != nil {
			c.add(place("slo"), "load.search.slo %v", err)
		}
		if search.From >= search.To {
			c.add(place("to"), "load.search.to must be more than from, %s, not %s", rate(search.From), rate(search.To))
		}
	}
}

// checkEvents follows the backends through the events of one config.
func (d *document) checkEvents(events []Event, config Config, c *problems) {
	if config.Load.Search != nil && len(events) > 0 {
		c.add(d.place("events"), "a search has no events: which of its rates they meet would be chance; use load.open")
		return
	}
	if config.Gateway != nil && len(events) > 0 {
		c.add(d.place("events"), "a gateway has no events: its requests stand for several calls, so what became of one cannot be told; leave out gateway or events")
		return
	}
	length := config.Load.duration()
	backends, last := config.Server.Replicas, time.Duration(0)
	for i, e := range events {
		n := d.root.get("events").values[i]
		at := n.get("at").at
		if e.At < last {
			c.add(at, "events must be in the order of time: %s comes after %s", short(e.At), short(last))
		}
		if length > 0 && e.At >= length {
			c.add(at, "at %s the load is over: it lasts %s", short(e.At), short(length))
		}
		last = e.At
		if word, count := e.hits(); count > backends {
			c.add(n.get(word).at, "%s %d: there are only %d backends at that time", word, count, backends)
		}
		if e.Slow != nil && e.Slow.By > 0 && e.Slow.Times > 0 {
			c.add(n.get("slow").at, "slow can have only one of by and times")
		}
		if e.Scale > 0 {
			backends = e.Scale
		}
	}
}

// checkControls: a control repeats its arm exactly, or it shows more than chance.
func (d *document) checkControls(r resolved, c *problems) {
	arms := r.experiment.Arms
	for i, arm := range arms {
		if arm.Control == "" || reflect.DeepEqual(r.configs[i], r.configs[index(arms, arm.Control)]) {
			continue
		}
		c.add(d.place("arms", arm.Name, "control"),
			"arm %s is a control of %s but differs from it: leave its settings out", arm.Name, arm.Control)
	}
}

// checkFigures: a published figure stands in a cell of the sweep, as written.
func (d *document) checkFigures(r resolved) error {
	var c problems
	var axes []string
	for _, axis := range r.experiment.Sweep {
		axes = append(axes, axis.Path)
	}
	for i, figure := range r.experiment.Published {
		n := d.root.get("published").values[i]
		for path := range figure.Cell {
			if !slices.Contains(axes, path) {
				c.add(n.get("cell").get(path).at, "%s is not in the sweep%s", path, nearest.Suggest(path, axes))
			}
		}
		if !slices.ContainsFunc(r.cells, func(cell map[string]any) bool {
			return reflect.DeepEqual(cell, figure.Cell) || len(cell)+len(figure.Cell) == 0
		}) && c.err() == nil {
			c.add(n.at, "no cell of the sweep is that of this published figure: it would never be printed")
		}
		if figure.ElapsedMS+figure.Rate+figure.P95+figure.RSS == 0 && figure.Note == "" {
			c.add(n.at, "a published figure needs elapsed_ms, rate, p95_ms, rss_mb or note")
		}
	}
	return c.err()
}

// duration is how long calls are due; 0: it depends on the answers.
func (l Load) duration() time.Duration {
	switch {
	case l.Open != nil:
		return l.Open.Duration
	case l.Closed != nil:
		return l.Closed.Duration
	}
	return 0
}
