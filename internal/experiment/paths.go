package experiment

import (
	"cmp"
	"reflect"
)

// paths decodes a mapping of field paths: the sweep, a published figure's cell, or
// the quick settings. Every value obeys the rules of the field that its path names.
func (d *decoder) paths(s *shape, n *node, into reflect.Value) {
	if n.kind != mapping {
		d.add(n.at, "%s must be a mapping of field paths such as load.burst, not %s", s.title(), n.describe())
		return
	}
	settings := s.name == "quick"
	seen := map[string]place{}
	for _, p := range n.pairs {
		if first, twice := seen[p.key]; twice {
			d.add(p.at, "field %q is given twice; the first is at line %d", p.key, first.line)
			continue
		}
		seen[p.key] = p.at
		find := d.grammar.configTarget
		if settings {
			find = func(path string) (target, error) { return d.grammar.setTarget(path, d.arms) }
		}
		t, err := find(p.key)
		if err != nil {
			d.add(p.at, "%v", err)
			continue
		}
		switch {
		case s.many:
			into.Set(reflect.Append(into, reflect.ValueOf(Axis{p.key, d.axis(t.shape, p.key, p.value)})))
		case settings:
			into.Set(reflect.Append(into, reflect.ValueOf(Setting{p.key, d.setting(t, p.value)})))
		default:
			if into.IsNil() {
				into.Set(reflect.MakeMap(into.Type()))
			}
			if v := d.value(t.shape, p.value); v != nil {
				into.SetMapIndex(reflect.ValueOf(p.key), reflect.ValueOf(v))
			}
		}
	}
}

// setting decodes the value of a --set assignment.
func (d *decoder) setting(t target, n *node) any {
	if t.many {
		return d.axis(t.shape, t.path[len(t.path)-1], n)
	}
	return d.value(t.shape, n)
}

// axis decodes the values of one field of the sweep.
func (d *decoder) axis(s *shape, path string, n *node) []any {
	if n.kind != sequence || len(n.values) == 0 {
		d.add(n.at, "sweep %s must be a list of values, not %s", path, n.describe())
		return nil
	}
	var values []any
	for _, item := range n.values {
		v := d.value(s, item)
		for _, before := range values {
			if reflect.DeepEqual(before, v) && v != nil {
				d.add(item.at, "sweep %s takes %s twice", path, cmp.Or(item.text, "the same value"))
			}
		}
		values = append(values, v)
	}
	return values
}

// value decodes one value to its plain form; nil: it was wrong.
func (d *decoder) value(s *shape, n *node) any {
	v := reflect.New(s.typ).Elem()
	before := len(d.found)
	d.decode(s, n, v)
	if len(d.found) > before {
		return nil
	}
	return plain(s, v)
}
