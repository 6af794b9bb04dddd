package experiment

import (
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// An experiment beyond these limits is probably a mistake.
const (
	maxArms    = 100
	maxConfigs = 10_000  // arms in all cells
	maxTrials  = 100_000 // and in all rounds
)

// checkNames checks that references to arms exist.
func (d *document) checkNames(experiment *Experiment, wrong *problems) {
	names := d.armNames()
	known := func(name string, path ...string) bool {
		if slices.Contains(names, name) {
			return true
		}
		wrong.add(d.position(path...), "no arm %q%s", name, suggest.DidYouMean(name, names))
		return false
	}
	if experiment.Baseline != "" {
		known(experiment.Baseline, "baseline")
	}
	for _, arm := range experiment.Arms {
		if arm.Against != "" && known(arm.Against, "arms", arm.Name, "against") && (arm.Against == arm.Name || arm.Control != "") {
			wrong.add(d.position("arms", arm.Name, "against"), "arm %s cannot be compared with itself or be a control too: leave against out, or name another arm", arm.Name)
		}
		if arm.Control == "" || !known(arm.Control, "arms", arm.Name, "control") {
			continue
		}
		switch at := d.position("arms", arm.Name, "control"); {
		case arm.Control == arm.Name:
			wrong.add(at, "arm %s cannot be its own control", arm.Name)
		case experiment.Arms[armIndex(experiment.Arms, arm.Control)].Control != "":
			wrong.add(at, "arm %s is a control itself: name the arm that it repeats", arm.Control)
		}
	}
	for i, f := range experiment.Confounds {
		confound := d.root.get("confounds").values[i]
		for _, side := range []string{"published", "controlled"} {
			if name := confound.get(side); !slices.Contains(names, name.text) {
				wrong.add(name.at, "no arm %q%s", name.text, suggest.DidYouMean(name.text, names))
			}
		}
		if i := armIndex(experiment.Arms, f.Published); i >= 0 && experiment.Arms[i].Published == "" {
			wrong.add(confound.get("published").at, "arm %s is not marked as published", f.Published)
		}
		if f.Published == f.Controlled {
			wrong.add(confound.get("controlled").at, "a confound needs two arms, not %s twice", f.Published)
		}
	}
	for i, figure := range experiment.Published {
		if !slices.Contains(names, figure.Arm) {
			wrong.add(d.root.get("published").values[i].get("arm").at, "no arm %q%s", figure.Arm, suggest.DidYouMean(figure.Arm, names))
		}
	}
}

// checkAxes checks that no axis overrides another axis or a field of an arm, or has values that results must not contain.
func (d *document) checkAxes(experiment *Experiment, wrong *problems) {
	config := d.grammar.config
	for i, axis := range experiment.Sweep {
		at := d.root.get("sweep").pairs[i].at
		path := strings.Split(axis.Path, ".")
		isSecret := func(value *node) bool {
			_, found := nest(path, value).find([]string{"caller", "env"})
			return found
		}
		if slices.ContainsFunc(d.root.get("sweep").pairs[i].value.values, isSecret) {
			wrong.add(at, "sweep %s sets caller.env, which can be secret, and results show the values of a sweep: use an arm for each value", axis.Path)
		}
		for _, other := range experiment.Sweep[:i] {
			if n := nest(strings.Split(other.Path, "."), &node{}); cleared(config, n, path) == nil {
				wrong.add(at, "sweep %s and sweep %s exclude each other", axis.Path, other.Path)
			}
		}
		for _, arm := range experiment.Arms {
			own := d.ownConfig(arm.Name)
			if left := cleared(config, own, path); len(own.pairs) > 0 && !reflect.DeepEqual(left, own) {
				found, _ := own.find(path)
				wrong.add(found.at, "arm %s sets a field that sweep %s sets for every arm", arm.Name, axis.Path)
			}
		}
	}
}

// checkSize limits the size of the plan before it is expanded.
func (d *document) checkSize(experiment *Experiment, wrong *problems) {
	configs := len(experiment.Arms)
	if configs > maxArms {
		wrong.add(d.position("arms"), "%d arms; an experiment has at most %d", configs, maxArms)
		return
	}
	for _, axis := range experiment.Sweep {
		if configs *= len(axis.Values); configs > maxConfigs {
			wrong.add(d.position("sweep"), "the sweep has over %d combinations of arm and cell", maxConfigs)
			return
		}
	}
	if trials := configs * experiment.Rounds; trials > maxTrials {
		wrong.add(d.position("rounds"), "%d rounds are %d trials; an experiment has at most %d", experiment.Rounds, trials, maxTrials)
	}
}

// checkDesign checks that the arm can take turns with other arms, if the design requires that.
func (d *document) checkDesign(e *Experiment, arm string, c Config, wrong *problems) {
	if e.Design == Isolated {
		return
	}
	at := d.position("design")
	switch {
	case len(e.Events) > 0:
		wrong.add(at, "events need trials of their own, and design %s has none: remove them, or set design: isolated", e.Design)
	case c.Load.Search != nil:
		wrong.add(at, "arm %s searches for its capacity, which needs the whole machine, and design %s shares it: set design: isolated", arm, e.Design)
	case c.Load.Closed != nil && c.Load.Closed.Ramp > 0:
		wrong.add(at, "arm %s starts its users slowly (load.closed.ramp), and design %s measures in short blocks: remove the ramp, or set design: isolated", arm, e.Design)
	}
}

// checkControls checks that a control repeats its arm exactly. Otherwise it would show more than random
// differences.
func (d *document) checkControls(r resolved, wrong *problems) {
	arms := r.experiment.Arms
	for i, arm := range arms {
		if arm.Control == "" || reflect.DeepEqual(r.configs[i], r.configs[armIndex(arms, arm.Control)]) {
			continue
		}
		wrong.add(d.position("arms", arm.Name, "control"),
			"arm %s is a control of %s but has different settings: remove them", arm.Name, arm.Control)
	}
}

// checkFigures checks that the cell of every published figure is in the sweep.
func (d *document) checkFigures(r resolved) error {
	var wrong problems
	var axes []string
	for _, axis := range r.experiment.Sweep {
		axes = append(axes, axis.Path)
	}
	for i, figure := range r.experiment.Published {
		n := d.root.get("published").values[i]
		for path := range figure.Cell {
			if !slices.Contains(axes, path) {
				wrong.add(n.get("cell").get(path).at, "%s is not in the sweep%s", path, suggest.DidYouMean(path, axes))
			}
		}
		if !slices.ContainsFunc(r.cells, func(cell map[string]any) bool {
			return reflect.DeepEqual(cell, figure.Cell) || len(cell)+len(figure.Cell) == 0
		}) && wrong.err() == nil {
			wrong.add(n.at, "the sweep has no such cell, so this published figure would never be printed")
		}
		if figure.ElapsedMS+figure.Rate+figure.Mean+figure.P95+figure.RSS == 0 && figure.Note == "" {
			wrong.add(n.at, "a published figure needs elapsed_ms, rate, mean_ms, p95_ms, rss_mb or note")
		}
	}
	return wrong.err()
}
