package report

import (
	"fmt"

	"rpclab/internal/result"
)

// finding is what the balance of one arm came to in some of its cells.
type finding struct {
	pattern pattern
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
	var said []string
	for _, name := range names {
		said = append(said, balanceOf(byName[name])...)
	}
	if len(said) == 0 {
		return
	}
	p.heading("Balance")
	for _, text := range said {
		p.item(text)
	}
}

// balanceOf is the sentences on one arm, given in all its cells.
func balanceOf(arms []result.Arm) []string {
	because := why(arms[0])
	var found []*finding
	for _, arm := range arms {
		s, ok := spread(arm)
		if !ok {
			continue
		}
		seen := patternOf(arm, s, because.gives)
		var f *finding
		for _, known := range found {
			if known.pattern == seen {
				f = known
			}
		}
		if f == nil {
			f = &finding{pattern: seen}
			found = append(found, f)
		}
		f.cells = append(f.cells, cellName(arm.Cell))
		f.spreads = append(f.spreads, s)
		f.chances = append(f.chances, arm.Balance.PRandom)
		f.jains = append(f.jains, arm.Balance.Jain)
	}
	var out []string
	for _, f := range found {
		name := clean(arms[0].Name)
		if len(found) > 1 {
			name += " at " + and(f.cells)
		}
		out = append(out, name+": "+because.clause+f.outcome(because.gives))
	}
	return out
}

// outcome joins what was seen to the reason: as expected, or in spite of it.
func (f finding) outcome(expected pattern) string {
	seen := f.seen()
	switch {
	case expected != "" && f.pattern != expected:
		return "; yet here " + seen
	case f.pattern == allOnOne:
		return ", so " + seen
	}
	return ": " + seen
}

func (f finding) seen() string {
	backends, off, busiest := 0, 0.0, 0.0
	for _, s := range f.spreads {
		backends, off = max(backends, s.backends), max(off, s.off)
		busiest = max(busiest, s.busiest*float64(s.backends))
	}
	lowest, jain := f.chances[0], f.jains[0]
	for i := range f.chances {
		lowest, jain = min(lowest, f.chances[i]), min(jain, f.jains[i])
	}
	switch f.pattern {
	case allOnOne:
		return fmt.Sprintf("one of %d backends got all of them", backends)
	case even:
		if off < 0.0005 {
			return "even to the call"
		}
		return "even to within " + percentUp(off)
	case random:
		text := chance(lowest)
		if len(f.chances) > 1 && lowest >= 0.001 {
			text = "lowest " + text
		}
		return "as uneven as chance (" + text + ")"
	}
	return fmt.Sprintf("uneven beyond chance, the busiest of %d backends got %s times its fair share (Jain's index %.2f)",
		backends, ratio(busiest), jain)
}

// percentUp rounds up to a tenth of a percent: "within" must hold.
func percentUp(share float64) string {
	tenths := int(share*1000) + 1
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}
