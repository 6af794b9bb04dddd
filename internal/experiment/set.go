package experiment

import (
	"slices"
	"strings"
)

// set applies one assignment. It sets a config field for every arm and cell: in the defaults,
// and it removes the values of arms and axes that would override it.
func (d *document) set(path string, value *node) error {
	check := decoder{grammar: d.grammar, arms: d.armNames()}
	t, err := d.grammar.setTarget(path, check.arms)
	if err != nil {
		check.add(value.at, "%v", err)
		return check.err()
	}
	check.setting(t, value)
	if err := check.err(); err != nil {
		return err
	}
	switch {
	case t.config:
		d.setEverywhere(t.path, value)
	case t.many:
		d.clearAxes(strings.Split(t.path[1], "."))
		d.root = d.root.with("sweep", d.root.get("sweep").with(t.path[1], value))
	case len(t.path) > 1 && t.path[0] == "defaults":
		d.root = d.root.with("defaults", merge(d.grammar.config, d.root.get("defaults"), nest(t.path[1:], value)))
	case len(t.path) > 2 && t.path[0] == "arms":
		arms := d.root.get("arms")
		arm := arms.get(t.path[1])
		next := merge(d.grammar.arm, cleared(d.grammar.arm, arm, t.path[2:]), nest(t.path[2:], value))
		d.root = d.root.with("arms", arms.with(t.path[1], next))
	default:
		d.root = d.root.withPath(t.path, value)
	}
	return nil
}

func (d *document) setEverywhere(path []string, value *node) {
	defaults := cleared(d.grammar.config, d.root.get("defaults"), path)
	d.root = d.root.with("defaults", merge(d.grammar.config, defaults, nest(path, value)))
	arms := d.root.get("arms")
	for _, p := range arms.pairs {
		rest := cleared(d.grammar.arm, p.value, path)
		if rest == nil {
			rest = &node{at: p.value.at, kind: mapping}
		}
		arms = arms.with(p.key, rest)
	}
	d.root = d.root.with("arms", arms)
	d.clearAxes(path)
}

// clearAxes removes from the sweep the values that a value at path replaces or excludes.
func (d *document) clearAxes(path []string) {
	sweep := d.root.get("sweep")
	if sweep == nil {
		return
	}
	rest := &node{at: sweep.at, kind: mapping}
	for _, axis := range sweep.pairs {
		steps := strings.Split(axis.key, ".")
		values := &node{at: axis.value.at, kind: sequence}
		for _, value := range axis.value.values {
			left := cleared(d.grammar.config, nest(steps, value), path)
			if n, ok := left.find(steps); ok && n != nil {
				values.values = append(values.values, n)
			}
		}
		if len(values.values) > 0 {
			axis.value = values
			rest.pairs = append(rest.pairs, axis)
		}
	}
	if len(rest.pairs) == 0 {
		d.root = d.root.without(func(key string) bool { return key == "sweep" })
		return
	}
	d.root = d.root.with("sweep", rest)
}

// withPath sets a value under a path of keys, creating mappings as needed.
func (n *node) withPath(path []string, value *node) *node {
	if len(path) == 1 {
		return n.with(path[0], value)
	}
	return n.with(path[0], n.get(path[0]).withPath(slices.Clone(path[1:]), value))
}
