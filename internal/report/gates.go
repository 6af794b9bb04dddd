package report

import "rpclab/internal/result"

// The outcomes of gates as the terminal and as Markdown have them.
var (
	words = map[string]string{"held": "held", "failed": "FAILED", "not established": "not established"}
	marks = map[string]string{"held": "✅ held", "failed": "❌ failed", "not established": "➖ not established"}
)

// gates is a table for each, of what it makes of every arm, and why those that
// establish nothing do not.
func gates(p *page, c result.Comparison, outcomes map[string]string) {
	if len(c.Gates) == 0 {
		return
	}
	p.heading("Gates")
	var all []string
	byGate := map[string]*table{}
	var why mergedTexts
	for _, g := range c.Gates {
		name := clean(g.Gate)
		t := byGate[name]
		if t == nil {
			t = &table{columns: []column{{"arm", false}, {"B/A", true}, {"interval", true}, {"outcome", false}}}
			byGate[name], all = t, append(all, name)
		}
		t.rows = append(t.rows, []string{clean(g.Arm) + at(g.Cell), ratioOr(g.Ratio), interval(g.CI), outcomes[g.Outcome]})
		if g.Reason != "" {
			why.exactly("not established: " + name + " of " + clean(g.Arm) + at(g.Cell) + ": " + clean(g.Reason))
		}
	}
	for _, name := range all {
		p.sub(name)
		p.grid(*byGate[name])
	}
	for _, text := range why.texts() {
		p.alarm(text)
	}
	p.note("A gate holds or fails with its whole interval (" + confidence(c.Gates[0].Level) + ", so that the chance of any wrong outcome is " +
		"5 % at most). Where the interval spans the bound, nothing is established.")
}

// interval is that of a ratio, "" where there is none.
func interval(ci [2]float64) string {
	if ci == [2]float64{} {
		return ""
	}
	return ratio(ci[0]) + "–" + ratio(ci[1])
}
