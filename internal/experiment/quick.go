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

// Effect of --quick on a document without a quick block.
const (
	quickRounds = 4 // the minimum for a verdict
	quickLoad   = 20 * time.Second
	// quickLimit is the time after which a run begins no further round, because how long calls take is not known
	// beforehand: on a slow machine it has fewer rounds, and takes as long. It allows for quickLoads rounds of loads. Runs with
	// no more rounds than a verdict needs have no limit.
	quickLimit = 25 * time.Second
	quickLoads = 6
	// quickPrecision is that of a search.
	quickPrecision = Percent(10)
	// pilotLoad is the length of all loads of a pilot.
	pilotLoad = 4 * time.Second
)

// quick scales the experiment down: with its quick block, else with fewer rounds, the first cell
// and shorter loads. picked are the arms that will run; none means all.
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

// roundTime is about how long the loads of the picked arms take in one round of the first cell.
func (r resolved) roundTime(picked []string) (load time.Duration) {
	for i, arm := range r.experiment.Arms {
		if len(picked) == 0 || slices.Contains(picked, arm.Name) {
			load += r.configs[i][0].expectedDuration()
		}
	}
	return load
}

func (d *document) shrink(picked []string) error {
	before, err := d.resolve()
	if err != nil {
		return err
	}
	few := min(quickRounds, before.experiment.Rounds)
	d.root = d.root.with("rounds", &node{at: position{file: "--quick"}, value: few, text: strconv.Itoa(few)})
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
	if load := time.Duration(few) * r.roundTime(picked); load > quickLoad {
		d.root = d.grammar.shorten(d.grammar.document, d.root, float64(quickLoad)/float64(load))
	}
	return nil
}

// scale multiplies the fields of the scale block by factor.
func (d *document) scale(factor float64) error {
	var wrong problems
	source := position{file: fmt.Sprintf("--scale %v", factor)}
	block := d.root.get("scale")
	switch {
	case !(factor > 0) || math.IsInf(factor, 0):
		wrong.add(source, "the scale must be more than 0; 1 is the load of the published study")
	case block == nil:
		wrong.add(source, "%s has no scale block: remove --scale, and set fields with --set", d.root.get("experiment").text)
	}
	if err := wrong.err(); err != nil {
		return err
	}
	for _, p := range block.pairs {
		value, ok := multiplied(p.value, factor)
		if !ok {
			wrong.add(p.value.at, "scale: %s: use a number, a duration or a size such as 64Mi, because --scale multiplies it", p.key)
			return wrong.err()
		}
		value.at = source
		if err := d.set(p.key, value); err != nil {
			return err
		}
	}
	return nil
}

// shorten multiplies every duration and count that --quick may change by factor.
func (g *grammar) shorten(typ *valueType, n *node, factor float64) *node {
	switch {
	case typ == nil:
		return n
	case typ.quick != "":
		return scaled(n, typ.quick, factor)
	}
	next := *n
	for _, f := range typ.fields {
		if f.typ.quick == "coarse" && n.kind == mapping {
			next = *next.with(f.name, cmp.Or(next.get(f.name), f.fallback))
		}
	}
	next.values, next.pairs = slices.Clone(next.values), slices.Clone(next.pairs)
	for i, item := range n.values {
		next.values[i] = g.shorten(typ.of, item, factor)
	}
	for i, p := range next.pairs {
		next.pairs[i].value = g.shorten(g.under(typ, p.key), p.value, factor)
	}
	return &next
}

// under is the type of the value under key; nil if it has no fields.
func (g *grammar) under(typ *valueType, key string) *valueType {
	switch typ.kind {
	case record:
		if f := typ.field(key); f != nil {
			return f.typ
		}
	case named:
		return typ.of
	case paths:
		if t, err := g.configTarget(key); err == nil && typ.many {
			return &valueType{kind: list, of: t.typ}
		}
	}
	return nil
}

// multiplied returns a field of the scale block times factor. Whole numbers stay whole, and at least 1. ok is false for a
// value that cannot be multiplied.
func multiplied(n *node, factor float64) (times *node, ok bool) {
	next := *n
	_, err := time.ParseDuration(n.text)
	size, isSize := parseSize(n.text)
	switch value := n.value.(type) {
	case int:
		whole := max(1, int(math.Round(float64(value)*factor)))
		next.value, next.text = whole, strconv.Itoa(whole)
	case float64:
		next.value, next.text = value*factor, strconv.FormatFloat(value*factor, 'g', -1, 64)
	case string:
		switch {
		case isSize:
			next.text = Bytes(1024 * max(1, math.Round(float64(size)*factor/1024))).String() // in Ki, the smallest unit
		case err == nil:
			next.text = scaled(n, "up", factor).text
		default:
			return nil, false
		}
		next.value = next.text
	default:
		return nil, false
	}
	return &next, true
}

// scaled rounds durations to milliseconds: loads up and events down, so that events stay within
// the load. Counts stay at least 1. A coarse precision does not depend on the factor.
func scaled(n *node, direction string, factor float64) *node {
	if count, ok := n.value.(int); ok {
		next := *n
		next.value = max(1, int(float64(count)*factor))
		next.text = strconv.Itoa(next.value.(int))
		return &next
	}
	if fine, ok := ParsePercent(n.text); ok && direction == "coarse" {
		next := *n
		next.text = max(fine, quickPrecision).String()
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
	next.text = formatDuration(time.Duration(ms) * time.Millisecond)
	next.value = next.text
	return &next
}
