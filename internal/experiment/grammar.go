package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/nearest"
)

// grammar is the shape of a document and of the config inside it.
type grammar struct {
	document, config, arm *shape
	vocabulary            Vocabulary
}

func newGrammar(v Vocabulary) *grammar {
	r := shaper{map[string][]string{"routes": v.Routes, "callers": v.Callers, "languages": v.Languages, "policies": v.PolicyNames()}}
	g := &grammar{
		vocabulary: v,
		document:   r.shape(reflect.TypeFor[Experiment](), "", "", ""),
		config:     r.shape(reflect.TypeFor[Config](), "", "", ""),
	}
	g.arm = g.document.field("arms").shape.of
	return g
}

// target is what a field path of --set, quick or the sweep means.
type target struct {
	path   []string
	shape  *shape
	config bool // a field of every arm's config, else of the document
	many   bool // takes a list of values of shape: an axis
}

// configTarget resolves a path such as load.burst; the error has no place yet.
func (g *grammar) configTarget(path string) (target, error) {
	steps := strings.Split(path, ".")
	s, err := g.config.walk(steps, "", nil)
	return target{path: steps, shape: s, config: true}, err
}

// setTarget resolves a path of --set: one of the document (rounds, sweep.PATH,
// defaults.PATH, arms.NAME.PATH) or one of a config field.
func (g *grammar) setTarget(path string, arms []string) (target, error) {
	first, rest, deeper := strings.Cut(path, ".")
	steps := strings.Split(path, ".")
	switch {
	case g.config.field(first) != nil:
		return g.configTarget(path)
	case first == "quick":
		return target{}, fmt.Errorf("quick holds settings and cannot be set itself")
	case first == "sweep" && deeper:
		t, err := g.configTarget(rest)
		return target{path: []string{first, rest}, shape: t.shape, many: true}, err
	case first == "arms" && deeper:
		if !slices.Contains(arms, steps[1]) {
			return target{}, fmt.Errorf("no arm %q%s", steps[1], nearest.Suggest(steps[1], arms))
		}
		s, err := g.arm.walk(steps[2:], "arm "+steps[1], nil)
		return target{path: steps, shape: s}, err
	case first == "defaults" && deeper:
		s, err := g.config.walk(steps[1:], "", nil)
		return target{path: steps, shape: s}, err
	}
	s, err := g.document.walk(steps, "", g.config.names())
	return target{path: steps, shape: s}, err
}

// walk follows steps through records. In messages s is called where; others are
// names that would have been right at the first step too.
func (s *shape) walk(steps []string, where string, others []string) (*shape, error) {
	if len(steps) == 0 {
		return s, nil
	}
	if s.kind != record {
		return nil, fmt.Errorf("%s has no fields to set one by one: set it as a whole", where)
	}
	f := s.field(steps[0])
	if f == nil {
		return nil, fmt.Errorf("%s", unknownField(steps[0], where, append(s.names(), others...)))
	}
	return f.shape.walk(steps[1:], f.shape.name, nil)
}

func unknownField(name, where string, known []string) string {
	if where != "" {
		where = " in " + where
	}
	return fmt.Sprintf("unknown field %q%s%s", name, where, nearest.Suggest(name, known))
}
