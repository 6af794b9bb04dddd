package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

// grammar is the type of a document and of the config inside it.
type grammar struct {
	document, config, arm *valueType
	vocabulary            Vocabulary
}

func newGrammar(vocabulary Vocabulary) *grammar {
	r := newTypeReader(vocabulary)
	g := &grammar{
		vocabulary: vocabulary,
		document:   r.read(reflect.TypeFor[Experiment](), "", "", ""),
		config:     r.read(reflect.TypeFor[Config](), "", "", ""),
	}
	g.arm = g.document.field("arms").typ.of
	return g
}

// target is the field that a path of --set, quick or the sweep names.
type target struct {
	path   []string
	typ    *valueType
	config bool // a field of every arm's config, else of the document
	many   bool // takes a list of values of typ: an axis
}

// configTarget resolves a path such as load.burst. The error has no position.
func (g *grammar) configTarget(path string) (target, error) {
	steps := strings.Split(path, ".")
	typ, err := g.config.walk(steps, "", nil)
	return target{path: steps, typ: typ, config: true}, err
}

// setTarget resolves a path of --set: a config field, or a path of the document (rounds,
// sweep.PATH, defaults.PATH, arms.NAME.PATH).
func (g *grammar) setTarget(path string, arms []string) (target, error) {
	first, rest, deeper := strings.Cut(path, ".")
	steps := strings.Split(path, ".")
	switch {
	case g.config.field(first) != nil:
		return g.configTarget(path)
	case first == "quick":
		return target{}, fmt.Errorf("quick cannot be set; set the fields in it")
	case first == "sweep" && deeper:
		t, err := g.configTarget(rest)
		return target{path: []string{first, rest}, typ: t.typ, many: true}, err
	case first == "arms" && deeper:
		if !slices.Contains(arms, steps[1]) {
			return target{}, fmt.Errorf("no arm %q%s", steps[1], suggest.DidYouMean(steps[1], arms))
		}
		typ, err := g.arm.walk(steps[2:], "arm "+steps[1], nil)
		return target{path: steps, typ: typ}, err
	case first == "defaults" && deeper:
		typ, err := g.config.walk(steps[1:], "", nil)
		return target{path: steps, typ: typ}, err
	}
	typ, err := g.document.walk(steps, "", g.config.names())
	return target{path: steps, typ: typ}, err
}

// walk follows a path through records. Messages name the record where; others are further
// names that are valid at the first step.
func (t *valueType) walk(steps []string, where string, others []string) (*valueType, error) {
	if len(steps) == 0 {
		return t, nil
	}
	if t.kind != record {
		return nil, fmt.Errorf("%s has no fields: set it as a whole", where)
	}
	f := t.field(steps[0])
	if f == nil {
		return nil, fmt.Errorf("%s", unknownField(steps[0], where, append(t.names(), others...)))
	}
	return f.typ.walk(steps[1:], f.typ.name, nil)
}

func unknownField(name, where string, known []string) string {
	if where != "" {
		where = " in " + where
	}
	return fmt.Sprintf("unknown field %q%s%s", name, where, suggest.DidYouMean(name, known))
}
