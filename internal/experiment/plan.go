package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rpclab/internal/suggest"
)

// Plan is an expanded experiment: its trials in the order in which they run. The same document,
// options and seed give the same plan.
type Plan struct {
	Name          string
	Question      string
	Text          string // the document, without secrets
	Source        string
	Baseline      string
	Design        string   // isolated, interleaved or side-by-side
	Headline      []string // metrics that answer the question, the most important first
	Rounds        int
	Looks         []int         // numbers of rounds after which a decided run may end; empty: the number of rounds is fixed
	TimeLimit     time.Duration // after which no round begins; 0: none
	Margin        float64       // the largest difference that does not matter, as a share
	Seed          uint64
	Quick         bool
	Changed       []string         // settings that differ from the document, path=value
	Dir           string           // where relative paths of caller.dir start
	Services      []Service        // that arms call; relative paths start at the directory of their file
	Arms          []Arm            // the picked arms in the order of the document, with defaults merged in
	Cells         []map[string]any // the sweep's points; one empty cell without a sweep
	Trials        []Trial
	Confounds     []Confound
	Published     []Published
	PublishedSize string // the load behind Published, if the experiment runs a smaller one
}

// Designs: how the arms of a round are measured.
const (
	Isolated    = "isolated"     // one trial after another, each with callers and infrastructure of its own
	Interleaved = "interleaved"  // all arms of a cell are up and warm, and take turns in short blocks
	SideBySide  = "side-by-side" // two arms are up and warm, and their blocks run at the same time
)

// Trial is one arm, in one cell, in one round.
type Trial struct {
	Order  int // position in the run, from 0
	Round  int // from 1
	Arm    string
	Cell   map[string]any
	Config Config
	Events []Event
	Seed   uint64 // of this trial's own random choices
	Group  int    // of arms that are up at the same time, from 1; 0: those of the cell are one group
}

// InGroups returns the plan with the arms of each cell in groups, one group after the other. The baseline is in
// every group.
func (p Plan) InGroups(groups [][]string) Plan {
	var all []Trial
	for cell := range slices.Chunk(p.Trials, p.Rounds*len(p.Arms)) {
		for i, arms := range groups {
			for _, t := range cell {
				if !slices.Contains(arms, t.Arm) {
					continue
				}
				t.Order, t.Group = len(all), i+1
				t.Seed = DeriveSeed(t.Seed, fmt.Sprintf("group %d", t.Group))
				all = append(all, t)
			}
		}
	}
	p.Trials = all
	return p
}

// LoadTime returns the time during which calls are due in a number of rounds. Loads without a fixed duration
// count as 0.
func (p Plan) LoadTime(rounds int) (all time.Duration) {
	for _, t := range p.Trials {
		if t.Round <= rounds {
			all += t.Config.Load.FixedDuration()
		}
	}
	if p.Design == SideBySide {
		all /= time.Duration(len(p.Arms))
	}
	return all
}

// HasOwnClient reports whether a client of the user's makes the calls of an arm.
func (p Plan) HasOwnClient() bool {
	return slices.ContainsFunc(p.Trials, func(t Trial) bool { return t.Config.Caller.Command != nil })
}

// DropsPackets reports whether an event of the plan drops packets.
func (p Plan) DropsPackets() bool {
	return slices.ContainsFunc(p.Trials, func(t Trial) bool {
		return slices.ContainsFunc(t.Events, func(e Event) bool { return e.Cut != nil && e.Cut.How == "blackhole" })
	})
}

// trials returns the trials in their order. Isolated trials run every cell in every round. If the arms of
// a cell are up at the same time, each cell has all its rounds before the next.
func trials(r resolved, picked []int, seed uint64) []Trial {
	var all []Trial
	random := rand.New(rand.NewPCG(seed, 0))
	inCell := func(round, c int) {
		for _, i := range random.Perm(len(picked)) {
			arm := picked[i]
			all = append(all, Trial{
				Order: len(all), Round: round, Arm: r.experiment.Arms[arm].Name, Cell: r.cells[c],
				Config: r.configs[arm][c], Events: r.experiment.Events, Seed: random.Uint64(),
			})
		}
	}
	if r.experiment.Design == Isolated {
		for round := 1; round <= r.experiment.Rounds; round++ {
			for c := range r.cells {
				inCell(round, c)
			}
		}
		return all
	}
	for c := range r.cells {
		for round := 1; round <= r.experiment.Rounds; round++ {
			inCell(round, c)
		}
	}
	return all
}

// pick returns the indices of the named arms in the order of the document; of all arms if names
// is empty.
func pick(experiment Experiment, names []string) ([]int, error) {
	var all []string
	for _, arm := range experiment.Arms {
		all = append(all, arm.Name)
	}
	var picked []int
	for i, name := range all {
		if len(names) == 0 || slices.Contains(names, name) {
			picked = append(picked, i)
		}
	}
	return picked, unknownArms(missing(names, all), all)
}

// missing returns the names that are not among all.
func missing(names, all []string) (unknown []string) {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(all, name) })
}

// unknownArms returns the error of arms of --arms that do not exist; nil if there are none.
func unknownArms(unknown, known []string) error {
	var wrong problems
	for _, name := range unknown {
		wrong.add(position{file: "--arms " + name}, "no arm %q%s", name, suggest.DidYouMean(name, known))
	}
	return wrong.err()
}

// among returns arms of the experiment, which refer to these arms only, and their baseline.
func (e Experiment) among(picked []int) (arms []Arm, baseline string) {
	has := func(name string) bool { return armIndex(arms, name) >= 0 }
	for _, i := range picked {
		arms = append(arms, e.Arms[i])
	}
	for i := range arms {
		if !has(arms[i].Control) {
			arms[i].Control = ""
		}
		if !has(arms[i].Against) {
			arms[i].Against = "" // the baseline, which every run has
		}
	}
	if baseline = e.Baseline; !has(baseline) {
		baseline = arms[0].Name
	}
	return arms, baseline
}

// plan orders the trials: every round runs every cell, and every cell runs each arm once, in a
// random order from the seed. Arms under comparison so run close in time, and drift of the
// machine (heat, other load) affects all of them alike.
func plan(r resolved, options Options) (Plan, error) {
	experiment := r.experiment
	picked, err := pick(experiment, options.Arms)
	if err != nil {
		return Plan{}, err
	}
	if experiment.Design == SideBySide && len(picked) != 2 {
		var wrong problems
		wrong.add(position{file: "design: side-by-side"}, "it measures two arms at the same time, and %d are picked: name two with --arms, or set design: interleaved", len(picked))
		return Plan{}, wrong.err()
	}
	p := Plan{
		Name: experiment.Name, Question: experiment.Question, Source: experiment.Source,
		Design: experiment.Design, Rounds: experiment.Rounds, Margin: float64(experiment.Margin) / 100, Seed: options.Seed, Quick: options.Quick, Cells: r.cells, PublishedSize: experiment.PublishedSize,
	}
	p.Arms, p.Baseline = experiment.among(picked)
	has := func(name string) bool { return armIndex(p.Arms, name) >= 0 }
	p.Confounds = slices.DeleteFunc(slices.Clone(experiment.Confounds), func(c Confound) bool {
		return !has(c.Published) || !has(c.Controlled)
	})
	p.Published = slices.DeleteFunc(slices.Clone(experiment.Published), func(f Published) bool { return !has(f.Arm) })
	p.Services = experiment.Services
	if slices.ContainsFunc(slices.Concat(r.configs...), func(c Config) bool { return c.Caller.Stream != nil }) {
		p.Services = oneMessageACall(p.Services)
	}
	p.Trials = trials(r, picked, options.Seed)
	p.Headline = headline(experiment.Headline, p.Trials)
	return p, nil
}

// oneMessageACall returns services whose calls send one message each, as calls with caller.stream do, so that calls of
// all arms are the same work.
func oneMessageACall(services []Service) []Service {
	services = slices.Clone(services)
	for i := range services {
		calls := slices.Clone(services[i].Calls)
		for j, c := range calls {
			if c.Stream != nil && c.Stream.Requests > 1 {
				one := *c.Stream
				one.Requests, one.Messages = 1, min(one.Messages, 1)
				calls[j].Stream = &one
			}
		}
		services[i].Calls = calls
	}
	return services
}

// ofLatency are the metrics that a search does not have, because it measures each arm at another rate.
var ofLatency = []string{"p50", "p90", "p99", "p999", "mean", "elapsed", "rate"}

// headline returns the metrics of the document's headline that the loads of the trials have. If they have none
// of them, it returns those of the default headline. So a load that --set turns into a search asks for
// capacity.
func headline(named []string, trials []Trial) (metrics []string) {
	searches := func(t Trial) bool { return t.Config.Load.Search != nil }
	search := slices.ContainsFunc(trials, searches)
	paced := slices.ContainsFunc(trials, func(t Trial) bool { return !searches(t) })
	for _, list := range [][]string{named, {"p50", "p99", "capacity"}} {
		for _, m := range list {
			if (m != "capacity" || search) && (!slices.Contains(ofLatency, m) || paced) {
				metrics = append(metrics, m)
			}
		}
		if len(metrics) > 0 {
			break
		}
	}
	return metrics
}

// DeriveSeed derives the seed of one purpose from another seed, so that no two purposes share random
// numbers.
func DeriveSeed(seed uint64, purpose string) uint64 {
	for _, b := range []byte(purpose) {
		seed = (seed ^ uint64(b)) * 0x100000001b3 // FNV-1a
	}
	return seed
}
