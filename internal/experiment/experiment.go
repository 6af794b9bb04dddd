package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/verdict"
)

// Expand reads an experiment document and expands it to a plan. Errors name the document file.
// Settings apply in this order: quick, --scale, --set, --rounds. The error is [Errors]: all
// errors of the document, or else all errors of the options.
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
		if looks, err = d.extendRounds(r.experiment.Rounds, o.MaxRounds); err != nil {
			return Plan{}, err
		}
		if r, err = d.resolve(); err != nil {
			return Plan{}, err
		}
	}
	p, err := plan(r, o)
	p.Text, p.Changed, p.Looks = string(doc), d.changed(o), looks
	if o.Scale == 1 && len(p.Changed) == 0 {
		p.PublishedSize = "" // which is that of the run
	}
	return p, err
}

// maxRoundsUntilDecided is the default of --max-rounds.
const maxRoundsUntilDecided = 30

// extendRounds sets the maximum number of rounds of --until decided, and returns the numbers of
// rounds after which the run may end.
func (d *document) extendRounds(first, most int) ([]int, error) {
	if most == 0 {
		most = max(maxRoundsUntilDecided, 2*first)
	}
	if least := max(first, verdict.MinRounds); most < least {
		var c problems
		c.add(position{file: "--max-rounds"}, "%d rounds are too few: --until decided needs at least %d", most, least)
		return nil, c.err()
	}
	return verdict.Looks(first, most), d.setRounds("--max-rounds", most)
}

func (d *document) setRounds(said string, n int) error {
	return d.set("rounds", &node{at: position{file: said}, value: n, text: strconv.Itoa(n)})
}

// changed are the settings that differ from the document and affect what is measured; rounds,
// sweep and margin do not.
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

// Read reads and checks an experiment document, including its quick settings. It merges the
// defaults into every arm; fields of the sweep have their default values.
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
			wrong = append(wrong, Error{File: source, Message: "use path=value, such as rounds=5 or load.burst=1000"})
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

// Command is the command line, for a POSIX shell, that runs the experiment (a name or a file)
// with these options.
func (o Options) Command(experiment string) string {
	words := []string{"rpclab", "run", quoted(experiment)}
	if o.Quick {
		words = append(words, "--quick")
	}
	if len(o.Arms) > 0 {
		words = append(words, "--arms", quoted(strings.Join(o.Arms, ",")))
	}
	for _, setting := range o.Set {
		words = append(words, "--set", quoted(setting))
	}
	if o.Rounds > 0 {
		words = append(words, "--rounds", strconv.Itoa(o.Rounds))
	}
	if o.UntilDecided {
		words = append(words, "--until", "decided")
	}
	if o.MaxRounds > 0 {
		words = append(words, "--max-rounds", strconv.Itoa(o.MaxRounds))
	}
	return strings.Join(append(words, "--seed", strconv.FormatUint(o.Seed, 10)), " ")
}

// quoted quotes a word for the shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Options are the command-line options that change an experiment.
type Options struct {
	Set    []string // path=value, value in YAML
	Arms   []string // names; none: all
	Rounds int      // 0: as the document says
	// UntilDecided lets the run go on from there until it is decided, up to MaxRounds; 0: up
	// to 30, or twice as many as it has.
	UntilDecided bool
	MaxRounds    int
	Seed         uint64
	Quick        bool
	Scale        float64 // of the study's own size, where the document says which fields that is; 0: as the document says
}
