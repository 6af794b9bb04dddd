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

// finding is the balance of one arm in cells with the same pattern, in which calls travel in the same way.
type finding struct {
	because expectation
	pattern string // "" in older documents
	cells   []string
	spreads []shares
	chances []float64
	jains   []float64
}

// balance has one sentence for each pattern, with its reason. A run whose events change the set of
// backends has no single balance; eventTables shows it over time.
func balance(p *page, d result.Document) {
	if len(d.Events) > 0 {
		return
	}
	names, byName := armNames(d), armsByName(d)
	var texts distinct
	who := map[string][]string{} // the arms of each text
	for _, name := range names {
		for _, f := range balanceOf(byName[name]) {
			texts.add(f.text)
			who[f.text] = append(who[f.text], f.name)
		}
	}
	if len(texts.list) == 0 {
		return
	}
	p.heading("Balance")
	for _, text := range texts.list {
		p.item(and(who[text]) + ": " + text)
	}
}

type statement struct{ name, text string }

// balanceOf describes one arm, given in all its cells.
func balanceOf(arms []result.Arm) []statement {
	var found []*finding
	for _, arm := range arms {
		s, ok := callShares(arm)
		if !ok {
			continue
		}
		because := callPath(arm)
		i := slices.IndexFunc(found, func(f *finding) bool { return f.pattern == arm.Balance.Pattern && f.because == because })
		if i < 0 {
			i = len(found)
			found = append(found, &finding{because: because, pattern: arm.Balance.Pattern})
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
		out = append(out, statement{name, f.because.clause + f.outcome(f.because.gives)})
	}
	return out
}

// outcome adds the observed balance to the reason: as expected, or not.
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
	figures := fmt.Sprintf("the busiest of %d backends received %s times its fair share (Jain's index %.2f)",
		backends, ratio(busiest), jain)
	switch f.pattern {
	case oneTakesAll:
		return fmt.Sprintf("one of %d backends received all", backends)
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

// evenWithin is the largest deviation from a fair share, relative to that share, that needs no explanation.
const evenWithin = 0.01

// percentUp rounds up to a tenth of a percent, because the text says "within".
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

// The patterns of balance, as a result names them.
const (
	oneTakesAll = "one-takes-all"
	uneven      = "uneven"
	asChance    = "as-chance"
	takesTurns  = "takes-turns"
	tooFewCalls = "too-few-calls"
)

// The PickedBy of routes that send each connection to a random backend, and of routes to one address.
const (
	pickedByKernel = "kernel"
	pickedByNobody = "nobody"
)

// callPath explains the balance by the route and the channels.
func callPath(a result.Arm) expectation {
	several := callerCount(a)
	settings := a.Settings()
	connections := settings.Caller.Channel.Pool
	if settings.Gateway != nil {
		several, connections = 1, 0 // the gateway makes all calls, on its own channels
	}
	discovers := a.Discovery == "dns" || a.Discovery == "watch" // the client itself knows every backend
	drawn := a.PickedBy == pickedByKernel
	switch {
	case a.PickedBy == pickedByNobody:
		return expectation{"the client dials one backend by its address", oneTakesAll}
	case a.Channel == "own":
		return expectation{"the client opens its own connections, which rpclab does not know", ""}
	case (a.Channel == "per-request" || a.Channel == "own-connection") && a.Describe != "":
		return expectation{strings.TrimRight(clean(a.Describe), "."), ""} // as many calls as a request makes
	case settings.Caller.Style == "bidi" && settings.Caller.Streams == nil && several*max(connections, 1) == 1:
		return expectation{"a stream stays on the backend where it started", oneTakesAll}
	case settings.Caller.Style == "bidi":
		return expectation{"each stream stays on the backend where it started", ""}
	case discovers && settings.Gateway == nil && settings.Caller.Stream != nil:
		return expectation{"each stream stays on the backend where it started", ""}
	case discovers && a.Channel == "per-call":
		return expectation{"each call opens a channel that knows every backend and starts at a random one", asChance}
	case discovers && connections > 0:
		return expectation{fmt.Sprintf("each of %d channels knows every backend and takes turns", connections), takesTurns}
	case discovers && several > 1:
		return expectation{fmt.Sprintf("each of %d clients knows every backend and takes turns", several), takesTurns}
	case discovers:
		return expectation{"the client knows every backend and takes turns", takesTurns}
	case drawn && (a.Channel == "per-call" || settings.Gateway == nil && settings.Caller.Kind == "python-requests"):
		return expectation{"each call opens a connection, and each connection goes to a random backend", asChance}
	case drawn && a.Channel == "per-user" && settings.Gateway == nil:
		return expectation{"each user has a connection, which goes to a random backend and stays there", ""}
	case drawn && speaksHTTP1(settings):
		return expectation{"there are as many connections as calls in flight, and each goes to a random backend", ""}
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

// speaksHTTP1 reports whether the client makes HTTP/1.1 requests, of which a connection carries one at a time.
func speaksHTTP1(s result.Settings) bool {
	if s.Gateway != nil || s.Caller.HTTP2 {
		return false
	}
	switch s.Caller.Kind {
	case "http", "python-requests-session", "python-httpx":
		return true
	case "wire":
		return strings.HasPrefix(s.Server.Model, "rest") || slices.Contains([]string{"axum", "flask", "starlette"}, s.Server.Model)
	}
	return s.HTTP == 1
}

// shares is how calls were spread over backends in each trial: every trial opens new connections,
// so the sum over trials would hide an uneven trial.
type shares struct {
	backends        int     // in a trial
	idlest, busiest float64 // share of the calls, median over trials
	off             float64 // largest distance from a fair share in any trial, relative to it
	byOne           bool    // in every trial, counts differ by one call at most
	bars            string  // of the median trial: a bar for each backend, the busiest first
}

// callShares is not ok without calls, or with fewer than two backends.
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

// mostBars is how many fit into a table; with more backends, each bar is of several.
const mostBars = 12

func barOfEach(backends []uint64) string {
	calls := make([]float64, len(backends))
	for i, n := range backends {
		calls[i] = float64(n)
	}
	slices.SortFunc(calls, func(a, b float64) int { return cmp.Compare(b, a) })
	return spark(fit(calls, min(len(calls), mostBars)), calls[0])
}

// groups are the calls per backend that belong together: the trials' groups or, in older documents,
// the counts of each trial.
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
