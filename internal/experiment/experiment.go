package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/verdict"
)

// Expand reads an experiment document and expands it to a plan. Errors name the document file.
// Settings apply in this order: quick, --scale, --service, --set, --rounds. The error is [Errors]: all
// errors of the document, or else all errors of the options.
func Expand(file string, doc []byte, options Options, vocabulary Vocabulary) (Plan, error) {
	d, err := read(file, doc, vocabulary, options.AllowDisruption, options.On)
	if err != nil {
		return Plan{}, err
	}
	if options.Service == nil { // with one, the error names the arms that can call it
		d.picked = options.Arms
	}
	if options.Quick {
		if err := d.quick(options.Arms); err != nil {
			return Plan{}, err
		}
	}
	if options.Scale != 0 {
		if err := d.scale(options.Scale); err != nil {
			return Plan{}, err
		}
	}
	var unknown []string // arms of a run on a service
	if options.Service != nil {
		arms := options.Arms
		unknown = missing(arms, d.armNames())
		if len(unknown) > 0 { // the error names all that can call the service
			arms = d.armsOfServices()
		}
		if err := d.useService(*options.Service, Workload{Call: options.Call, Mix: options.Mix, Flow: options.Flow}, arms); err != nil {
			return Plan{}, err
		}
	}
	if err := d.options(options); err != nil {
		return Plan{}, err
	}
	r, err := d.resolve()
	if len(unknown) > 0 && len(r.valid) > 0 {
		return Plan{}, unknownArms(unknown, r.valid)
	}
	if err != nil {
		return Plan{}, r.withArms(err, options.Service)
	}
	if options.Pilot {
		if err := d.pilot(r, options.Arms); err != nil {
			return Plan{}, err
		}
		if r, err = d.resolve(); err != nil {
			return Plan{}, err
		}
	}
	var looks []int
	if options.UntilDecided {
		if looks, err = d.extendRounds(r, options); err != nil {
			return Plan{}, err
		}
		if r, err = d.resolve(); err != nil {
			return Plan{}, err
		}
	}
	p, err := plan(r, options)
	dir := filepath.Dir(file)
	if options.Service != nil {
		dir = filepath.Dir(options.Service.File)
	}
	for i, s := range p.Services {
		p.Services[i] = s.inDirectory(dir)
	}
	p.Dir = filepath.Dir(file)
	p.Text, p.Changed, p.Looks, p.TimeLimit = withoutSecrets(doc), d.changed(options), looks, options.For
	if options.Quick && looks == nil && !options.FixRounds() && p.Rounds > verdict.MinRounds {
		p.TimeLimit = max(quickLimit, quickLoads*time.Duration(len(r.cells))*r.roundTime(options.Arms))
	}
	if options.Scale == 1 && len(p.Changed) == 0 {
		p.PublishedSize = "" // the run has the same size
	}
	return p, err
}

// extendRounds sets the maximum number of rounds of a run until decided, and returns the numbers of
// rounds after which the run may end. Each look costs error, so none comes before every headline metric can have verdicts
// that can have one.
func (d *document) extendRounds(r resolved, options Options) ([]int, error) {
	pairs, err := r.pairs(options.Arms)
	if err != nil {
		return nil, err
	}
	r = r.only(options.Arms)
	least := r.fewestRounds()
	first := max(r.experiment.Rounds, least)
	most := cmp.Or(options.MaxRounds, min(2*first, maxRounds))
	var wrong problems
	if limit := options.For; limit > 0 {
		shortest, loads := r.shortestRound(options.Arms)
		if loads > limit {
			needed := r.roundsForVerdict(r.headline()[0], pairs, 1)
			wrong.add(position{file: "--for " + formatDuration(limit)}, "a verdict needs %d rounds, and a round has %s of load: use at least --for %s, fewer arms (--arms), or --quick",
				needed, formatDuration(loads), formatDuration(roundUp(time.Duration(needed)*loads)))
			return nil, wrong.err()
		}
		first = least // the time limit bounds the run, so the first look is as early as verdicts are possible
		if options.MaxRounds == 0 {
			most = min(max(int(limit/shortest), first), maxRounds)
		}
	}
	if most < first {
		wrong.add(position{file: "--max-rounds"}, "%d rounds are too few: a run until decided needs at least %d", most, first)
		return nil, wrong.err()
	}
	for _, metric := range r.headline() {
		// A metric that cannot have a verdict at all does not delay the others, which may decide the gates of the run.
		if rounds := r.roundsForVerdict(metric, pairs, firstShare); rounds <= most {
			first = max(first, rounds)
		}
	}
	return verdict.Looks(first, most), d.setRounds("--max-rounds", most)
}

// pilot gives a run the fewest rounds that show noise, and shortens its loads to pilotLoad.
func (d *document) pilot(r resolved, picked []string) error {
	rounds := max(r.experiment.Rounds, FewestRounds(r.experiment.Design))
	if err := d.setRounds("--pilot", rounds); err != nil {
		return err
	}
	if load := time.Duration(rounds) * r.roundTime(picked); load > pilotLoad {
		d.root = d.grammar.shorten(d.grammar.document, d.root, float64(pilotLoad)/float64(load))
	}
	return nil
}

const (
	// maxRounds is the largest number of rounds of an experiment.
	maxRounds = 1000
	// minTrialTime is less than any trial takes.
	minTrialTime = 100 * time.Millisecond
)

// shortestRound returns the least time that one round of the picked arms takes, and the part of it during which
// calls are due.
func (r resolved) shortestRound(picked []string) (round, loads time.Duration) {
	arms := 0
	for i, arm := range r.experiment.Arms {
		if len(picked) > 0 && !slices.Contains(picked, arm.Name) {
			continue
		}
		arms++
		for _, config := range r.configs[i] {
			load := config.Load.FixedDuration()
			round, loads = round+max(load, minTrialTime), loads+load
		}
	}
	if r.experiment.Design == SideBySide { // the loads run at the same time
		return round / time.Duration(arms), loads / time.Duration(arms)
	}
	return round, loads
}

// roundUp rounds a time up to whole seconds.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

func (d *document) setRounds(said string, n int) error {
	return d.set("rounds", &node{at: position{file: said}, value: n, text: strconv.Itoa(n)})
}

// changed are the settings that differ from the document and affect what is measured; rounds,
// sweep, margin and headline do not.
func (d *document) changed(options Options) []string {
	var settings []string
	if quick := d.root.get("quick"); options.Quick && quick != nil {
		for _, p := range quick.pairs {
			if options.Service != nil && isOfOwnServers(p.key) {
				continue
			}
			if p.value.kind == scalar {
				settings = append(settings, p.key+"="+p.value.text)
			} else {
				settings = append(settings, p.key)
			}
		}
	}
	if options.Scale != 0 && options.Scale != 1 {
		settings = append(settings, fmt.Sprintf("scale=%v", options.Scale))
		for _, p := range d.root.get("scale").pairs {
			if times, ok := multiplied(p.value, options.Scale); ok {
				settings = append(settings, p.key+"="+times.text)
			}
		}
	}
	return slices.DeleteFunc(append(settings, settingsWithoutSecrets(options.Set)...), func(setting string) bool {
		path, _, _ := strings.Cut(setting, "=")
		path, _, _ = strings.Cut(path, ".")
		return path == "rounds" || path == "margin" || path == "sweep" || path == "headline"
	})
}

// Read reads and checks an experiment document, including its quick settings. It merges the
// defaults into every arm; fields of the sweep have their default values. Services run as on this machine.
func Read(file string, doc []byte, vocabulary Vocabulary) (*Experiment, error) {
	return ReadFor(file, doc, vocabulary, local)
}

// ReadFor is Read with the services as they run on a kind of cluster, as in [Options].
func ReadFor(file string, doc []byte, vocabulary Vocabulary, on string) (*Experiment, error) {
	d, err := read(file, doc, vocabulary, true, on) // it starts nothing
	if err != nil {
		return nil, err
	}
	r, err := d.resolve()
	if err != nil {
		return nil, err
	}
	return &r.experiment, nil
}

func read(file string, doc []byte, vocabulary Vocabulary, mayDisturb bool, on string) (*document, error) {
	root, err := parse(file, doc)
	if err != nil {
		return nil, err
	}
	d := &document{root: root, grammar: newGrammar(vocabulary), mayDisturb: mayDisturb}
	d.placeServers(on)
	r, err := d.resolve()
	if err != nil {
		return nil, err
	}
	if err := d.checkFigures(r); err != nil {
		return nil, err
	}
	small := *d // check the quick settings even if this run does not use them
	if err := small.quick(nil); err != nil {
		return nil, err
	}
	_, err = small.resolve()
	return d, err
}

// options applies --set and --rounds.
func (d *document) options(options Options) error {
	var wrong Errors
	for _, assignment := range options.Set {
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
	if options.Rounds != 0 {
		return d.setRounds("--rounds", options.Rounds)
	}
	return nil
}
