package experiment

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
)

// What --quick means for a document that does not say it itself.
const (
	quickRounds = 4 // the fewest that give a verdict
	quickLoad   = 20 * time.Second
)

// quick makes the experiment small: as its quick block says, else by fewer rounds,
// the first cell and shorter loads. picked are the arms that will run; none: all.
func (d *document) quick(picked []string) error {
	block := d.root.get("quick")
	if block == nil {
		return d.shrink(picked)
	}
	var wrong Errors
	for _, p := range block.pairs {
		var found Errors
		if errors.As(d.set(p.key, p.value), &found) {
			wrong = append(wrong, found...)
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

func (d *document) shrink(picked []string) error {
	rounds := &node{at: place{file: "--quick"}, value: quickRounds, text: strconv.Itoa(quickRounds)}
	d.root = d.root.with("rounds", rounds)
	if sweep := d.root.get("sweep"); sweep != nil {
		for _, axis := range sweep.pairs {
			first := &node{at: axis.value.at, kind: sequence, values: axis.value.values[:1]}
			sweep = sweep.with(axis.key, first)
		}
		d.root = d.root.with("sweep", sweep)
	}
	r, err := d.resolve()
	if err != nil {
		return err
	}
	var load time.Duration
	for i, arm := range r.experiment.Arms {
		if len(picked) == 0 || slices.Contains(picked, arm.Name) {
			load += quickRounds * r.configs[i][0].Load.duration()
		}
	}
	if load > quickLoad {
		d.root = d.grammar.shorten(d.grammar.document, d.root, float64(quickLoad)/float64(load))
	}
	return nil
}

// shorten multiplies every duration that --quick may change by factor.
func (g *grammar) shorten(s *shape, n *node, factor float64) *node {
	switch {
	case s == nil:
		return n
	case s.quick != "":
		return scaled(n, s.quick, factor)
	}
	next := *n
	next.values, next.pairs = slices.Clone(n.values), slices.Clone(n.pairs)
	for i, item := range n.values {
		next.values[i] = g.shorten(s.of, item, factor)
	}
	for i, p := range n.pairs {
		next.pairs[i].value = g.shorten(g.under(s, p.key), p.value, factor)
	}
	return &next
}

// under is the shape of what stands under key; nil: nothing that has fields.
func (g *grammar) under(s *shape, key string) *shape {
	switch s.kind {
	case record:
		if f := s.field(key); f != nil {
			return f.shape
		}
	case named:
		return s.of
	case paths:
		if t, err := g.configTarget(key); err == nil && s.many {
			return &shape{kind: list, of: t.shape}
		}
	}
	return nil
}

// scaled rounds to a millisecond: loads up and events down, so that an event
// within the load stays within it.
func scaled(n *node, direction string, factor float64) *node {
	d, err := time.ParseDuration(n.text)
	if err != nil {
		return n
	}
	ms := float64(d) * factor / float64(time.Millisecond)
	if direction == "up" {
		ms = math.Ceil(ms)
	}
	next := *n
	next.text = short(time.Duration(ms) * time.Millisecond)
	next.value = next.text
	return &next
}
