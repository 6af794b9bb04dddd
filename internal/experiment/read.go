package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/verdict"
)

// Expand reads an experiment document and expands it to a plan. file is the name
// that errors give it. Settings apply in this order: quick, --scale, --set, --rounds. The
// error is [Errors], complete for the stage that failed: the document first, then
// the options.
func Expand(file string, doc []byte, o Options, v Vocabulary) (Plan, error) {
	d, err := read(file, doc, v)
	if err != nil {
		return Plan{}, err
	}
	if o.Quick {
		if err := d.quick(o.Arms); err != nil {
			return Plan{}, err
		}
	}
	if o.Scale != 0 {
		if err := d.scale(o.Scale); err != nil {
			return Plan{}, err
		}
	}
	if err := d.options(o); err != nil {
		return Plan{}, err
	}
	r, err := d.resolve()
	if err != nil {
		return Plan{}, err
	}
	var looks []int
	if o.UntilDecided {
		if looks, err = d.goOn(r.experiment.Rounds, o.MaxRounds); err != nil {
			return Plan{}, err
		}
		if r, err = d.resolve(); err != nil {
			return Plan{}, err
		}
	}
	p, err := plan(r, o)
	p.Text, p.Changed, p.Looks = string(doc), d.changed(o), looks
	if o.Scale == 1 && len(p.Changed) == 0 {
		p.Size = "" // which is that of the run
	}
	return p, err
}

// mostRounds of a run until decided that does not say how many.
const mostRounds = 30

// goOn gives the experiment as many rounds as it may take to decide it, and says after
// which of them that is looked at.
func (d *document) goOn(first, most int) ([]int, error) {
	if most == 0 {
		most = max(mostRounds, 2*first)
	}
	if least := max(first, verdict.MinRounds); most < least {
		var c problems
		c.add(place{file: "--max-rounds"}, "%d rounds are too few: a run until decided begins with %d", most, least)
		return nil, c.err()
	}
	return verdict.Looks(first, most), d.setRounds("--max-rounds", most)
}

func (d *document) setRounds(said string, n int) error {
	return d.set("rounds", &node{at: place{file: said}, value: n, text: strconv.Itoa(n)})
}

// changed are the settings in which the run differs from the document: of what is
// measured, not of how often (rounds), where (sweep) or how it is judged (margin).
func (d *document) changed(o Options) []string {
	var settings []string
	if quick := d.root.get("quick"); o.Quick && quick != nil {
		for _, p := range quick.pairs {
			if p.value.kind == scalar {
				settings = append(settings, p.key+"="+p.value.text)
			} else {
				settings = append(settings, p.key)
			}
		}
	}
	if o.Scale != 0 && o.Scale != 1 {
		settings = append(settings, fmt.Sprintf("scale=%v", o.Scale))
		for _, p := range d.root.get("scale").pairs {
			settings = append(settings, p.key+"="+scaled(p.value, "up", o.Scale).text)
		}
	}
	return slices.DeleteFunc(append(settings, o.Set...), func(setting string) bool {
		path, _, _ := strings.Cut(setting, "=")
		path, _, _ = strings.Cut(path, ".")
		return path == "rounds" || path == "margin" || path == "sweep"
	})
}

// Read reads and checks an experiment document, its quick settings too. Every arm
// has the defaults merged in; fields of the sweep are as the defaults say.
func Read(file string, doc []byte, v Vocabulary) (*Experiment, error) {
	d, err := read(file, doc, v)
	if err != nil {
		return nil, err
	}
	r, err := d.resolve()
	if err != nil {
		return nil, err
	}
	return &r.experiment, nil
}

func read(file string, doc []byte, v Vocabulary) (*document, error) {
	root, err := parse(file, doc)
	if err != nil {
		return nil, err
	}
	d := &document{root: root, grammar: newGrammar(v)}
	r, err := d.resolve()
	if err != nil {
		return nil, err
	}
	if err := d.checkFigures(r); err != nil {
		return nil, err
	}
	small := *d // the settings must hold too, asked for or not
	if err := small.quick(nil); err != nil {
		return nil, err
	}
	_, err = small.resolve()
	return d, err
}

// options applies --set and --rounds.
func (d *document) options(o Options) error {
	var wrong Errors
	for _, assignment := range o.Set {
		source := "--set " + assignment
		path, text, ok := strings.Cut(assignment, "=")
		if !ok {
			wrong = append(wrong, Error{File: source, Message: "write path=value, such as rounds=5 or load.burst=1000"})
			continue
		}
		value, err := parseValue(source, text)
		if err == nil {
			err = d.set(strings.TrimSpace(path), value)
		}
		var found Errors
		if errors.As(err, &found) {
			wrong = append(wrong, found...)
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	if o.Rounds != 0 {
		return d.setRounds("--rounds", o.Rounds)
	}
	return nil
}
