package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// finding is what the balance of one arm came to in some of its cells.
type finding struct {
	pattern string // of the result; "" in documents that name none
	cells   []string
	spreads []shares
	chances []float64
	jains   []float64
}

// balance has one sentence for each arm and pattern, and says why. While events
// change the set of backends there is no one balance: events tells it then.
func balance(p *page, d result.Document) {
	if len(d.Events) > 0 {
		return
	}
	var names []string
	byName := map[string][]result.Arm{}
	for _, arm := range d.Arms {
		if _, known := byName[arm.Name]; !known {
			names = append(names, arm.Name)
		}
		byName[arm.Name] = append(byName[arm.Name], arm)
	}
	var texts []string // what was found, and on which arms
	var who [][]string
	for _, name := range names {
		for _, f := range balanceOf(byName[name]) {
			if i := slices.Index(texts, f.text); i >= 0 {
				who[i] = append(who[i], f.name)
				continue
			}
			texts, who = append(texts, f.text), append(who, []string{f.name})
		}
	}
	if len(texts) == 0 {
		return
	}
	p.heading("Balance")
	for i, text := range texts {
		p.item(and(who[i]) + ": " + text)
	}
}

type statement struct{ name, text string }

// balanceOf is the sentences on one arm, given in all its cells.
func balanceOf(arms []result.Arm) []statement {
	because := callPath(arms[0])
	var found []*finding
	for _, arm := range arms {
		s, ok := callShares(arm)
		if !ok {
			continue
		}
		i := slices.IndexFunc(found, func(f *finding) bool { return f.pattern == arm.Balance.Pattern })
		if i < 0 {
			i = len(found)
			found = append(found, &finding{pattern: arm.Balance.Pattern})
		}
		f := found[i]
		f.cells = append(f.cells, cellName(arm.Cell))
		f.spreads = append(f.spreads, s)
		f.chances = append(f.chances, arm.Balance.PRandom)
		f.jains = append(f.jains, arm.Balance.Jain)
	}
	var out []statement
	for _, f := range found {
		name := clean(arms[0].Name)
		if len(found) > 1 {
			name += " at " + and(f.cells)
		}
		out = append(out, statement{name, because.clause + f.outcome(because.gives)})
	}
	return out
}

// outcome joins what was seen to the reason: as expected, or in spite of it.
func (f finding) outcome(expected string) string {
	seen := f.seen()
	switch {
	case f.pattern == "", expected == "":
		return ": " + seen
	case f.pattern == tooFewCalls:
		return "; " + seen
	case f.pattern != expected:
		return "; yet here " + seen
	}
	return ", so " + seen
}

func (f finding) seen() string {
	backends, off, busiest, byOne := 0, 0.0, 0.0, true
	for _, s := range f.spreads {
		backends, off = max(backends, s.backends), max(off, s.off)
		byOne = byOne && s.byOne
		busiest = max(busiest, s.busiest*float64(s.backends))
	}
	lowest, jain := slices.Min(f.chances), slices.Min(f.jains)
	figures := fmt.Sprintf("the busiest of %d backends got %s times its fair share (Jain's index %.2f)",
		backends, ratio(busiest), jain)
	switch f.pattern {
	case oneTakesAll:
		return fmt.Sprintf("one of %d backends got all", backends)
	case takesTurns:
		if byOne && off > evenWithin {
			return "calls are even, counts differ by one at most"
		}
		return "calls are even to within " + percentUp(off)
	case asChance:
		text := chance(lowest)
		if len(f.chances) > 1 {
			text = "lowest " + text
		}
		return "calls are as uneven as random assignment (" + text + ")"
	case tooFewCalls:
		return "these are too few calls to tell a pattern from random assignment, " + figures
	case uneven:
		return "calls are more uneven than random assignment, " + figures
	}
	return figures
}

// evenWithin is how far from a fair share, relative to it, needs no explanation.
const evenWithin = 0.01

// percentUp rounds up to a tenth of a percent: "within" must hold.
func percentUp(share float64) string {
	tenths := int(share*1000) + 1
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// expectation is how the calls of an arm travel, and which pattern that should give; "": any can
// result.
type expectation struct {
	clause string
	gives  string
}

// The patterns in which calls fall, as a result names them.
const (
	oneTakesAll = "one-takes-all"
	uneven      = "uneven"
	asChance    = "as-chance"
	takesTurns  = "takes-turns"
	tooFewCalls = "too-few-calls"
)

// pickedByKernel is the PickedBy of routes on which every connection goes to a random backend.
const pickedByKernel = "kernel"

// callPath explains the balance from the route and the channels.
func callPath(a result.Arm) expectation {
	several := callerCount(a)
	settings := a.Settings()
	connections := settings.Caller.Channel.Pool
	if settings.Gateway != nil {
		several, connections = 1, 0 // it makes the calls of all, on channels of its own
	}
	follows := a.Discovery == "dns" || a.Discovery == "watch" // the client itself knows every backend
	drawn := a.PickedBy == pickedByKernel
	switch {
	case a.Route == "direct":
		return expectation{"the client dials one backend by its address", oneTakesAll}
	case a.Channel == "per-request" && a.Describe != "":
		return expectation{strings.TrimRight(clean(a.Describe), "."), ""} // as many calls as a request makes
	case settings.Caller.Style == "bidi" && settings.Caller.Streams == nil && several*max(connections, 1) == 1:
		return expectation{"a stream stays with the backend on which it began", oneTakesAll}
	case settings.Caller.Style == "bidi":
		return expectation{"each stream stays with the backend on which it began", ""}
	case follows && a.Channel == "per-call":
		return expectation{"each call opens a channel that knows every backend and begins its turn at a random one", asChance}
	case follows && connections > 0:
		return expectation{fmt.Sprintf("each of %d channels knows every backend and takes turns", connections), takesTurns}
	case follows && several > 1:
		return expectation{fmt.Sprintf("each of %d clients knows every backend and takes turns", several), takesTurns}
	case follows:
		return expectation{"the client knows every backend and takes turns", takesTurns}
	case drawn && a.Channel == "per-call":
		return expectation{"each call opens a connection, and each connection goes to a random backend", asChance}
	case drawn && several*max(connections, 1) > 1:
		return expectation{fmt.Sprintf("%d connections, each drawn once at random, carry the calls in turn", several*max(connections, 1)), ""}
	case drawn:
		return expectation{"one HTTP/2 connection carries every call", oneTakesAll}
	}
	if a.Describe != "" {
		return expectation{strings.TrimRight(clean(a.Describe), "."), ""}
	}
	return expectation{strings.TrimSpace(clean(a.Route + ", " + a.Channel)), ""}
}

// shares says how calls fell on backends, trial by trial: every trial draws its
// connections anew, so the sum over trials would hide an uneven one.
type shares struct {
	backends        int     // in a trial
	idlest, busiest float64 // share of the calls, median over trials
	off             float64 // largest distance from a fair share in any trial, relative to it
	byOne           bool    // in every trial, counts differ by one call at most
	bars            string  // of the trial in the middle, a bar for each backend, the busiest first
}

// callShares is not ok when there are no calls, or fewer than two backends.
func callShares(a result.Arm) (s shares, ok bool) {
	s = shares{byOne: true}
	var low, high []float64
	var all [][]uint64
	for _, backends := range groups(a) {
		if len(backends) < 2 {
			continue
		}
		total := uint64(0)
		for _, calls := range backends {
			total += calls
		}
		if total == 0 {
			continue
		}
		least, most := slices.Min(backends), slices.Max(backends)
		all = append(all, backends)
		s.backends = max(s.backends, len(backends))
		low = append(low, float64(least)/float64(total))
		high = append(high, float64(most)/float64(total))
		fair := float64(total) / float64(len(backends))
		s.off = max(s.off, float64(most)/fair-1, 1-float64(least)/fair)
		s.byOne = s.byOne && most-least <= 1
	}
	if len(low) == 0 {
		return shares{}, false
	}
	s.idlest, s.busiest = median(low), median(high)
	middle := 0
	for i := range high {
		if math.Abs(high[i]-s.busiest) < math.Abs(high[middle]-s.busiest) {
			middle = i
		}
	}
	s.bars = barOfEach(all[middle])
	return s, true
}

// mostBars is how many a table has room for; of more backends each is of some of them.
const mostBars = 12

func barOfEach(backends []uint64) string {
	calls := make([]float64, len(backends))
	for i, n := range backends {
		calls[i] = float64(n)
	}
	slices.SortFunc(calls, func(a, b float64) int { return cmp.Compare(b, a) })
	return spark(fit(calls, min(len(calls), mostBars)), calls[0])
}

// groups are the counts that belong together: as the trials name them; in documents
// that do not, the counts of each trial.
func groups(a result.Arm) [][]uint64 {
	var all [][]uint64
	for _, t := range a.Trials {
		if len(t.Groups) > 0 {
			all = append(all, t.Groups...)
			continue
		}
		all = append(all, slices.Collect(maps.Values(t.Backends)))
	}
	if len(a.Trials) == 0 {
		all = append(all, slices.Collect(maps.Values(a.Backends)))
	}
	return all
}
