package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// What --quick means for a document that does not say it itself.
const (
	quickRounds = 4 // the fewest that give a verdict
	quickLoad   = 20 * time.Second
	// quickPrecision is that of a search.
	quickPrecision = Percent(10)
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
	before, err := d.resolve()
	if err != nil {
		return err
	}
	few := min(quickRounds, before.experiment.Rounds)
	d.root = d.root.with("rounds", &node{at: place{file: "--quick"}, value: few, text: strconv.Itoa(few)})
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
			load += time.Duration(few) * r.configs[i][0].about()
		}
	}
	if load > quickLoad {
		d.root = d.grammar.shorten(d.grammar.document, d.root, float64(quickLoad)/float64(load))
	}
	return nil
}

// scale makes the fields that the document names so much of what the study has.
func (d *document) scale(factor float64) error {
	var c problems
	source := place{file: fmt.Sprintf("--scale %v", factor)}
	block := d.root.get("scale")
	switch {
	case !(factor > 0) || math.IsInf(factor, 0):
		c.add(source, "a scale has to be more than 0; 1 is the size of the study")
	case block == nil:
		c.add(source, "%s does not say what the study's size is: leave it out, and set fields by --set", d.root.get("experiment").text)
	}
	if err := c.err(); err != nil {
		return err
	}
	for _, p := range block.pairs {
		value := scaled(p.value, "up", factor)
		value.at = source
		if err := d.set(p.key, value); err != nil {
			return err
		}
	}
	return nil
}

// about is how long a trial's load takes at the least.
func (c Config) about() time.Duration {
	service := time.Millisecond
	if c.Workload.Greet != nil {
		service = max(service, c.Workload.Greet.Delay)
	}
	switch l := c.Load; {
	case l.Sequence > 0:
		return time.Duration(l.Sequence) * service
	case l.Closed != nil && l.Closed.Duration == 0:
		return time.Duration(l.Closed.Calls/l.Closed.Users+1) * (service + l.Closed.Think)
	case l.Search != nil:
		return 8 * l.Search.Duration // ten short tries, four of full length, and waits for what queued
	case l.Burst > 0:
		return service + time.Duration(l.Burst)*time.Millisecond/2 // what a channel per call costs
	}
	return c.Load.duration()
}

// shorten multiplies every duration and count that --quick may change by factor.
func (g *grammar) shorten(s *shape, n *node, factor float64) *node {
	switch {
	case s == nil:
		return n
	case s.quick != "":
		return scaled(n, s.quick, factor)
	}
	next := *n
	for _, f := range s.fields {
		if f.shape.quick == "coarse" && n.kind == mapping {
			next = *next.with(f.name, cmp.Or(next.get(f.name), f.fallback))
		}
	}
	next.values, next.pairs = slices.Clone(next.values), slices.Clone(next.pairs)
	for i, item := range n.values {
		next.values[i] = g.shorten(s.of, item, factor)
	}
	for i, p := range next.pairs {
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

// scaled rounds a duration to a millisecond: loads up and events down, so that an
// event within the load stays within it. A count stays at least 1. What is to be coarse
// is, whatever the factor.
func scaled(n *node, direction string, factor float64) *node {
	if count, ok := n.value.(int); ok {
		next := *n
		next.value = max(1, int(float64(count)*factor))
		next.text = strconv.Itoa(next.value.(int))
		return &next
	}
	if fine, ok := parsePercent(n.text); ok && direction == "coarse" {
		next := *n
		next.text = max(Percent(fine), quickPrecision).String()
		next.value = next.text
		return &next
	}
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
