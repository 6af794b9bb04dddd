package experiment

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (d *decoder) decode(typ *valueType, n *node, into reflect.Value) {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch typ.kind {
	case record:
		d.record(typ, n, into)
	case list:
		d.list(typ, n, into)
	case named:
		d.named(typ, n, into)
	case paths:
		d.paths(typ, n, into)
	case texts:
		d.texts(typ, n, into)
	case data:
		into.SetString(n.json())
	case object:
		if n.kind != mapping {
			d.add(n.at, "%s must be a mapping, which can be written as JSON without quotes around it, not %s", typ.title(), n.describe())
			return
		}
		into.SetString(n.json())
	default:
		d.scalar(typ, n, into)
	}
}

func (d *decoder) record(typ *valueType, n *node, into reflect.Value) {
	if typ.words != nil && n.kind == scalar {
		d.word(typ, n, into)
		return
	}
	if n.kind == scalar && n.value == nil && typ.key != nil {
		n = &node{at: n.at, kind: mapping} // an arm without fields
	}
	if n.kind != mapping {
		d.add(n.at, "%s must be a mapping with fields such as %s, not %s", typ.title(), typ.fields[0].name, n.describe())
		return
	}
	given := map[string]position{}
	alternative := ""
	for _, p := range n.pairs {
		f := typ.field(p.key)
		if f == nil {
			d.add(p.at, "%s", unknownField(p.key, typ.name, typ.names()))
			continue
		}
		if _, twice := given[p.key]; twice {
			d.add(p.at, "field %q appears twice; the first is at line %d", p.key, given[p.key].line)
			continue
		}
		if f.alternative {
			if alternative != "" {
				d.add(p.at, "%s accepts only one of %s and %s", typ.title(), alternative, p.key)
			}
			alternative = p.key
		}
		given[p.key] = p.at
		d.decode(f.typ, p.value, into.FieldByIndex(f.index))
		if f.alternative && f.typ.kind == flag && p.value.value == false {
			d.add(p.value.at, "%s must be true: remove it otherwise", f.typ.name)
		}
		if typ.word != nil {
			into.FieldByIndex(typ.word).SetString(p.key)
		}
	}
	if typ.partial && !d.complete {
		return
	}
	if one := typ.alternatives(); alternative == "" && len(one) > 0 && !typ.hasDefaultAlternative() {
		d.add(n.at, "%s needs %s", typ.title(), joinOr(one))
	}
	d.absent(typ, n, given, into)
}

// absent reports missing required fields, and sets the default of each other missing field.
func (d *decoder) absent(typ *valueType, n *node, given map[string]position, into reflect.Value) {
	chosen := slices.ContainsFunc(typ.alternatives(), func(name string) bool { _, ok := given[name]; return ok })
	for _, f := range typ.fields {
		if _, ok := given[f.name]; ok || f.alternative && chosen {
			continue
		}
		switch {
		case f.typ.path != "" && !d.complete:
		case f.required:
			d.add(n.at, "%s needs %s (%s)", typ.title(), f.name, f.typ.doc)
		case f.fallback != nil:
			d.decode(f.typ, f.fallback, into.FieldByIndex(f.index))
		case f.typ.kind == record && f.typ.path != "" && !f.optional:
			d.record(f.typ, &node{at: n.at, kind: mapping}, into.FieldByIndex(f.index))
		}
	}
}

func (d *decoder) word(typ *valueType, n *node, into reflect.Value) {
	word, ok := n.value.(string)
	if !ok || !slices.Contains(typ.words, word) {
		d.add(n.at, "%s must be %s or %s, not %s%s", typ.title(), strings.Join(typ.words, ", "), typ.recordForms(),
			n.describe(), didYouMean(word, typ.words))
		return
	}
	into.Set(reflect.Zero(into.Type()))
	into.FieldByIndex(typ.word).SetString(word)
}

func (d *decoder) list(typ *valueType, n *node, into reflect.Value) {
	if n.kind != sequence {
		d.add(n.at, "%s must be a list, not %s", typ.title(), n.describe())
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, len(n.values))) // an empty list is given, too
	for _, item := range n.values {
		element := reflect.New(typ.of.typ).Elem()
		d.decode(typ.of, item, element)
		into.Set(reflect.Append(into, element))
	}
}

func (d *decoder) named(typ *valueType, n *node, into reflect.Value) {
	if n.kind != mapping || len(n.pairs) == 0 {
		d.add(n.at, "%s must be a mapping of names to settings, not %s", typ.title(), n.describe())
		return
	}
	seen := map[string]position{}
	for _, p := range n.pairs {
		if first, twice := seen[p.key]; twice {
			d.add(p.at, "duplicate %s %q; the first is at line %d", typ.of.name, p.key, first.line)
			continue
		}
		seen[p.key] = p.at
		if !slug.MatchString(p.key) {
			d.add(p.at, "%s name %q: use letters, digits and dashes, at most 40", typ.of.name, p.key)
		}
		element := reflect.New(typ.of.typ).Elem()
		element.FieldByIndex(typ.of.key).SetString(p.key)
		of := *typ.of
		of.name += " " + p.key
		d.decode(&of, p.value, element)
		into.Set(reflect.Append(into, element))
	}
}

// texts decodes a mapping of names to texts or, if the type has several, to lists of texts. A number or a boolean
// counts as its text.
func (d *decoder) texts(typ *valueType, n *node, into reflect.Value) {
	if n.kind != mapping {
		d.add(n.at, "%s must be a mapping of names to texts, not %s", typ.title(), n.describe())
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	several := into.Type().Elem().Kind() == reflect.Slice
	for _, p := range n.pairs {
		values := []*node{p.value}
		if several && p.value.kind == sequence {
			values = p.value.values
		}
		var texts []string
		for _, value := range values {
			if value.kind != scalar || value.value == nil {
				d.add(value.at, "%s: %s must be text, not %s", typ.title(), p.key, value.describe())
				continue
			}
			texts = append(texts, value.text)
		}
		switch {
		case into.MapIndex(reflect.ValueOf(p.key)).IsValid():
			d.add(p.at, "%s: %q appears twice", typ.title(), p.key)
		case several:
			into.SetMapIndex(reflect.ValueOf(p.key), reflect.ValueOf(texts))
		case len(texts) == 1:
			into.SetMapIndex(reflect.ValueOf(p.key), reflect.ValueOf(texts[0]))
		}
	}
}

// paths decodes a mapping of field paths: the sweep, a published figure's cell, or
// the quick settings. Every value obeys the rules of the field that its path names.
func (d *decoder) paths(typ *valueType, n *node, into reflect.Value) {
	if n.kind != mapping {
		d.add(n.at, "%s must be a mapping of field paths such as load.burst, not %s", typ.title(), n.describe())
		return
	}
	settings := typ.name == "quick"
	seen := map[string]position{}
	for _, p := range n.pairs {
		if first, twice := seen[p.key]; twice {
			d.add(p.at, "field %q appears twice; the first is at line %d", p.key, first.line)
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
		case typ.many:
			into.Set(reflect.Append(into, reflect.ValueOf(Axis{p.key, d.axis(t.typ, p.key, p.value)})))
		case settings:
			into.Set(reflect.Append(into, reflect.ValueOf(Setting{p.key, d.setting(t, p.value)})))
		default:
			if into.IsNil() {
				into.Set(reflect.MakeMap(into.Type()))
			}
			if v := d.value(t.typ, p.value); v != nil {
				into.SetMapIndex(reflect.ValueOf(p.key), reflect.ValueOf(v))
			}
		}
	}
}

// setting decodes the value of a --set assignment.
func (d *decoder) setting(t target, n *node) any {
	if t.many {
		return d.axis(t.typ, t.path[len(t.path)-1], n)
	}
	return d.value(t.typ, n)
}

// axis decodes the values of one field of the sweep.
func (d *decoder) axis(typ *valueType, path string, n *node) []any {
	if n.kind != sequence {
		d.add(n.at, "sweep %s must be a list of values, not %s", path, n.describe())
		return nil
	}
	if len(n.values) == 0 {
		d.add(n.at, "sweep %s has no values: list one or more, or remove it", path)
		return nil
	}
	var values []any
	found := map[string]bool{}
	for _, item := range n.values {
		v := d.value(typ, item)
		key := fmt.Sprintf("%#v", v)
		if found[key] && v != nil {
			d.add(item.at, "sweep %s contains %s twice", path, cmp.Or(item.text, "the same value"))
		}
		found[key] = true
		values = append(values, v)
	}
	return values
}

// value decodes one value to its plain form; nil: it was wrong.
func (d *decoder) value(typ *valueType, n *node) any {
	v := reflect.New(typ.typ).Elem()
	before := len(d.found)
	d.decode(typ, n, v)
	if len(d.found) > before {
		return nil
	}
	return encode(typ, v)
}
