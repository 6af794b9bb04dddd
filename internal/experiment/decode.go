package experiment

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// decoder turns trees into Go values, shape by shape. It goes on after an error,
// to find them all.
type decoder struct {
	problems
	grammar *grammar
	arms    []string // known names, for paths that go through an arm
	// complete: configs are merged, so defaults apply and required fields must be there.
	complete bool
}

var slug = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

func (d *decoder) decode(s *shape, n *node, into reflect.Value) {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch s.kind {
	case record:
		d.record(s, n, into)
	case list:
		d.list(s, n, into)
	case named:
		d.named(s, n, into)
	case paths:
		d.paths(s, n, into)
	default:
		d.scalar(s, n, into)
	}
}

func (d *decoder) record(s *shape, n *node, into reflect.Value) {
	if s.words != nil && n.kind == scalar {
		d.word(s, n, into)
		return
	}
	if n.kind == scalar && n.value == nil && s.key != nil {
		n = &node{at: n.at, kind: mapping} // an arm that sets nothing of its own
	}
	if n.kind != mapping {
		d.add(n.at, "%s must have fields such as %s, not be %s", s.title(), s.fields[0].name, n.describe())
		return
	}
	given := map[string]place{}
	alternative := ""
	for _, p := range n.pairs {
		f := s.field(p.key)
		if f == nil {
			d.add(p.at, "%s", unknownField(p.key, s.name, s.names()))
			continue
		}
		if _, twice := given[p.key]; twice {
			d.add(p.at, "field %q is given twice; the first is at line %d", p.key, given[p.key].line)
			continue
		}
		if f.alternative {
			if alternative != "" {
				d.add(p.at, "%s can have only one of %s and %s", s.title(), alternative, p.key)
			}
			alternative = p.key
		}
		given[p.key] = p.at
		d.decode(f.shape, p.value, into.FieldByIndex(f.index))
		if f.alternative && f.shape.kind == flag && p.value.value == false {
			d.add(p.value.at, "%s must be true: leave it out otherwise", f.shape.name)
		}
		if s.word != nil {
			into.FieldByIndex(s.word).SetString(p.key)
		}
	}
	if s.partial && !d.complete {
		return
	}
	if one := s.alternatives(); alternative == "" && len(one) > 0 {
		d.add(n.at, "%s needs %s", s.title(), either(one))
	}
	d.absent(s, n, given, into)
}

// absent treats the fields that are not given: required ones are missed, others
// get their default.
func (d *decoder) absent(s *shape, n *node, given map[string]place, into reflect.Value) {
	for _, f := range s.fields {
		if _, ok := given[f.name]; ok {
			continue
		}
		switch {
		case f.shape.path != "" && !d.complete:
		case f.required:
			d.add(n.at, "%s needs %s (%s)", s.title(), f.name, f.shape.doc)
		case f.fallback != nil:
			d.decode(f.shape, f.fallback, into.FieldByIndex(f.index))
		case f.shape.kind == record && f.shape.path != "" && !f.optional:
			d.record(f.shape, &node{at: n.at, kind: mapping}, into.FieldByIndex(f.index))
		}
	}
}

func (d *decoder) word(s *shape, n *node, into reflect.Value) {
	word, ok := n.value.(string)
	if !ok || !slices.Contains(s.words, word) {
		d.add(n.at, "%s must be %s or {%s: N}, not %s%s", s.title(), strings.Join(s.words, ", "), s.fields[0].name,
			n.describe(), onlyNear(word, s.words))
		return
	}
	into.Set(reflect.Zero(into.Type()))
	into.FieldByIndex(s.word).SetString(word)
}

func (d *decoder) list(s *shape, n *node, into reflect.Value) {
	if n.kind != sequence {
		d.add(n.at, "%s must be a list, not %s", s.title(), n.describe())
		return
	}
	for _, item := range n.values {
		element := reflect.New(s.of.typ).Elem()
		d.decode(s.of, item, element)
		into.Set(reflect.Append(into, element))
	}
}

func (d *decoder) named(s *shape, n *node, into reflect.Value) {
	if n.kind != mapping || len(n.pairs) == 0 {
		d.add(n.at, "%s must be a mapping of names to settings, not %s", s.title(), n.describe())
		return
	}
	seen := map[string]place{}
	for _, p := range n.pairs {
		if first, twice := seen[p.key]; twice {
			d.add(p.at, "duplicate %s %q; the first is at line %d", s.of.name, p.key, first.line)
			continue
		}
		seen[p.key] = p.at
		if !slug.MatchString(p.key) {
			d.add(p.at, "%s name %q: use letters, digits and dashes, at most 40", s.of.name, p.key)
		}
		element := reflect.New(s.of.typ).Elem()
		element.FieldByIndex(s.of.key).SetString(p.key)
		of := *s.of
		of.name += " " + p.key
		d.decode(&of, p.value, element)
		into.Set(reflect.Append(into, element))
	}
}

// title is how a message calls the thing.
func (s *shape) title() string {
	switch {
	case s.name != "":
		return s.name
	case s.partial: // a merged config
		return "an arm"
	}
	return "the experiment"
}
