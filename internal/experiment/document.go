package experiment

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// document is a parsed experiment that settings can still change.
type document struct {
	root    *node
	grammar *grammar
	// mayDisturb says that events may disturb services that run already.
	mayDisturb bool
	// picked are the only arms whose settings have to fit together; none: all.
	picked []string
}

// resolved is a document with all fields resolved; only the order of the trials is open.
type resolved struct {
	experiment Experiment
	cells      []map[string]any
	configs    [][]Config // by arm, by cell
	valid      []string   // arms without errors
}

// armNames are the arms in the order of the document.
func (d *document) armNames() []string {
	var names []string
	if arms := d.root.get("arms"); arms != nil {
		for _, p := range arms.pairs {
			names = append(names, p.key)
		}
	}
	return names
}

// ownConfig are the config fields that an arm sets itself. A control that sets none has those of
// the arm that it repeats.
func (d *document) ownConfig(name string) *node {
	arms := d.root.get("arms")
	own := d.configFields(arms.get(name))
	if len(own.pairs) > 0 {
		return own
	}
	if partner := arms.get(name).get("control"); partner != nil && arms.get(partner.text) != nil {
		own = d.configFields(arms.get(partner.text))
	}
	return own
}

func (d *document) configFields(arm *node) *node {
	return arm.without(func(key string) bool { return d.grammar.config.field(key) == nil })
}

// config decodes a merged config.
func (d *document) config(n *node) (Config, Errors) {
	var config Config
	one := decoder{grammar: d.grammar, complete: true}
	one.decode(d.grammar.config, n, reflect.ValueOf(&config).Elem())
	return config, one.found
}

// cell is one point of the sweep and the config that it merges into the arms.
type cell struct {
	point  map[string]any
	config *node
}

// cells are all combinations of the sweep's values; the last axis varies fastest.
func (d *document) cells() []cell {
	all := []cell{{point: map[string]any{}}}
	sweep := d.root.get("sweep")
	if sweep == nil {
		return all
	}
	for _, axis := range sweep.pairs {
		path := strings.Split(axis.key, ".")
		t, err := d.grammar.configTarget(axis.key)
		if err != nil {
			continue // reported when the document was decoded
		}
		values := decoder{grammar: d.grammar}
		var next []cell
		for _, c := range all {
			for _, value := range axis.value.values {
				point := map[string]any{axis.key: values.value(t.typ, value)}
				maps.Copy(point, c.point)
				next = append(next, cell{point, merge(d.grammar.config, c.config, nest(path, value))})
			}
		}
		all = next
	}
	return all
}

// position is where the document sets path, or its longest prefix.
func (d *document) position(path ...string) position {
	n, _ := d.root.find(path)
	return n.at
}

func armIndex(arms []Arm, name string) int {
	return slices.IndexFunc(arms, func(a Arm) bool { return a.Name == name })
}
