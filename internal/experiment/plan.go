package experiment

import "slices"

// Plan is an experiment with every choice made: the trials in the order in which
// they run. The same document, options and seed give the same plan.
type Plan struct {
	Name      string
	Question  string
	Text      string // the document, as it was written
	Source    string
	Baseline  string
	Rounds    int
	Looks     []int   // numbers of rounds after which the run may end, if it is decided; none: it does not
	Margin    float64 // the difference that is not worth a call, as a share
	Seed      uint64
	Quick     bool
	Changed   []string         // settings that differ from the document, path=value
	Arms      []Arm            // those picked, in the order of the document, defaults merged in
	Cells     []map[string]any // the sweep's points; one empty cell without a sweep
	Trials    []Trial
	Confounds []Confound
	Published []Published
	Size      string // what Published is of, where the experiment makes less
}

// Trial is one arm, in one cell, in one round.
type Trial struct {
	Order  int // place in the run, from 0
	Round  int // from 1
	Arm    string
	Cell   map[string]any
	Config Config
	Events []Event
	Seed   uint64 // of this trial's own random choices
}

// Options are what the command line may change.
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

// Vocabulary is the set of names that the other rooms register, so that this one
// need not know them.
type Vocabulary struct {
	Routes, Callers, Languages []string
	// Models are the ways in which the servers of each language are built, its own first.
	// Speaks is what those speak, as language/model, and what callers do, as caller: grpc,
	// rest, tcp, or nothing where none is called; the first where it could be either.
	Models map[string][]string
	Speaks map[string][]string
	// Can is what callers can that not all do: renew and pipeline streams, ping-pong on
	// them (stream), compress, keep a channel for each user (per-user), calculate.
	Can map[string][]string
	// Policies are the ways in which each route can spread calls, its own first; none:
	// there is nothing to choose.
	Policies map[string][]string
	// Plain are the callers that neither retry, hedge nor stream, and know only the policies
	// round_robin and pick_first; they cannot take the routes that are Whole.
	Plain, Whole []string
	// Proxied are the routes whose proxies read calls, and so have to be able to.
	Proxied []string
	// Bytes are the routes that carry not only gRPC.
	Bytes []string
	// Own are the routes that only clients in Go can take.
	Own []string
	// Outliers are the routes that can leave out backends that fail.
	Outliers []string
}

// PolicyNames are all policies that some route knows.
func (v Vocabulary) PolicyNames() []string {
	var all []string
	for _, name := range v.Routes {
		for _, policy := range v.Policies[name] {
			if !slices.Contains(all, policy) {
				all = append(all, policy)
			}
		}
	}
	return all
}

// Vanishes says whether the plan has packets vanish.
func (p Plan) Vanishes() bool {
	return slices.ContainsFunc(p.Trials, func(t Trial) bool {
		return slices.ContainsFunc(t.Events, func(e Event) bool { return e.Cut != nil && e.Cut.How == "blackhole" })
	})
}
