package report

import "rpclab/internal/result"

// strict is how gates that rpclab cannot tell fail; otherwise they are skipped.
const strict = "fail"

// The outcomes of gates as the terminal and as Markdown have them.
var (
	words = map[string]string{"held": "passed", "failed": "FAILED", "not established": "could not tell"}
	marks = map[string]string{"held": "✅ passed", "failed": "❌ failed", "not established": "➖ could not tell"}
)

// gatesOfRun shows the gates of a run, and the arms to which they were not applied.
func gatesOfRun(p *page, d result.Document) {
	g := d.Gates
	switch {
	case g == nil:
		return
	case g.Against == "":
		p.heading("Gates")
		p.say("There was no earlier run to compare with.")
		return
	}
	gates(p, g.Results, comparedWith(*g), words)
	for _, text := range DisturbsComparison(g.Warnings, g.Differences) {
		p.alarm(text)
	}
	refused(p, g.Refused)
	settings(p, g.Differences)
}

func comparedWith(g result.Gates) string {
	if g.Against == "baseline" {
		return "Each arm (B) is compared with the baseline of this run (A)."
	}
	return "This run (B) is compared with run " + clean(g.Against) + " (A)."
}

// gates has a table for each gate, with its outcome for every arm, and the reasons of those that rpclab could not
// tell. intro says what is compared; empty: the report says so.
func gates(p *page, results []result.GateResult, intro string, outcomes map[string]string) {
	if len(results) == 0 {
		return
	}
	p.heading("Gates")
	if intro != "" {
		p.say(intro)
	}
	var all []string
	byGate := map[string]*table{}
	var why mergedReasons
	for _, g := range results {
		name := clean(g.Gate)
		t := byGate[name]
		if t == nil {
			t = &table{columns: []column{{"arm", false}, {"B/A", true}, {"interval", true}, {"outcome", false}}}
			byGate[name], all = t, append(all, name)
		}
		t.rows = append(t.rows, []string{clean(g.Arm) + at(g.Cell), ratioOr(g.Ratio), interval(g.CI), outcomes[g.Outcome]})
		if g.Reason != "" {
			why.add("could not tell: "+name+" of "+clean(g.Arm)+at(g.Cell)+": "+clean(g.Reason), nil, "")
		}
	}
	for _, name := range all {
		p.sub(name)
		p.grid(*byGate[name])
	}
	for _, r := range why.list {
		p.alarm(r.text)
	}
	p.note("A gate passes or fails only if the whole " + confidence(results[0].Level) + " interval is on one side of the bound; else rpclab cannot tell. " +
		"The probability of any wrong outcome is at most 5 %.")
}

// refused lists the arms that are not compared.
func refused(p *page, all []result.Refusal) {
	if len(all) == 0 {
		return
	}
	p.heading("Not compared")
	for _, r := range all {
		p.item(clean(r.Arm) + at(r.Cell) + ": " + clean(r.Reason))
	}
}
