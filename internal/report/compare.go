package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"rpclab/internal/result"
)

// Compare writes what one run shows against an earlier one.
func Compare(w io.Writer, c result.Comparison, o Options) error {
	return writeTerminal(w, comparison(c, words), o)
}

// CompareMarkdown writes the same for GitHub.
func CompareMarkdown(w io.Writer, c result.Comparison) error {
	return writeMarkdown(w, comparison(c, marks))
}

// comparison reports on two runs: other differences, gates, numbers and settings.
func comparison(c result.Comparison, outcomes map[string]string) page {
	var p page
	p.title(clean("Compare " + c.A.ID + " (A) with " + c.B.ID + " (B)"))
	for _, run := range []struct {
		name string
		s    result.ComparedRun
	}{{"A", c.A}, {"B", c.B}} {
		p.say(fmt.Sprintf("%s: %s, %s, %s", run.name, clean(run.s.Experiment), moment(run.s.Started), plural(run.s.Rounds, "round")))
	}
	if c.A.ID == c.B.ID {
		p.alarm("A and B are the same run: name two different ones.")
	} else {
		p.say("The runs were made at different times: a difference may come from the machine, not from the arm. " +
			"To exclude that, run both as arms of one experiment.")
	}
	for _, text := range DisturbsComparison(c.Warnings, c.Differences) {
		p.alarm(text)
	}
	gates(&p, c.Gates, "", outcomes)
	ratios(&p, c)
	otherMetricsOfRuns(&p, c)
	refused(&p, c.Refused)
	settings(&p, c.Differences)
	return p
}

// ratios is one table of the headline metrics for each cell.
func ratios(p *page, c result.Comparison) {
	var open []result.Verdict
	level, headline, intervals := 0.0, 0, 0
	for _, in := range ratiosByCell(c) {
		t := table{columns: []column{{"arm", false}, {"", false}, {"A", true}, {"B", true},
			{"B/A", true}, {"interval", true}, {"p", true}, {"verdict", false}}}
		for _, r := range in.All {
			if r.Secondary {
				continue
			}
			v := verdictOf(r)
			if r.Decision == "undecided" {
				open = append(open, v)
			}
			level, headline = r.Level, headline+1
			interval := intervalOfRuns(r)
			if interval != "" {
				intervals++
			}
			words := comparativeOf(r.Metric)
			t.rows = append(t.rows, []string{clean(r.Arm), words.column, valueOfRun(r, r.A, r.ABound), valueOfRun(r, r.B, r.BBound),
				ratioOfRuns(r), interval, probability(r.PRanks), inWords(r)})
		}
		if name := cellName(in.Cell); name != "" {
			p.heading(name)
		} else {
			p.heading("Results")
		}
		p.grid(t)
	}
	whyOpen(p, open)
	if intervals > 0 {
		p.note(runIntervalNote(level, headline, cmp.Or(c.Margin, 0.03)))
	}
}

// valueOfRun is what an arm measured in one of the runs.
func valueOfRun(r result.Ratio, value float64, bound result.ValueBound) string {
	switch {
	case bound == result.NeverEnded:
		return never
	case value == 0 && r.Metric != "failed":
		return none
	case strings.HasSuffix(r.Metric, "_memory"):
		value /= 1e6
	}
	return bounded(result.Figure{Value: value, Lower: bound == result.LowerValue}, comparativeOf(r.Metric).show)
}

// runIntervalNote says how far the intervals can be relied on. margin is a share.
func runIntervalNote(level float64, headline int, margin float64) string {
	return fmt.Sprintf("B/A: of latencies, over 1 means that B took longer. interval: %s confidence, with the runs as independent samples, "+
		"wide enough that all %d verdicts above are correct with %s confidence. p: Mann-Whitney test of the row alone. as fast: within %.3g %%.",
		confidence(level), headline, confidence(1-(1-level)*float64(headline)), 100*margin)
}

func ratiosByCell(c result.Comparison) []result.InCell[result.Ratio] {
	return result.ByCell(c.Ratios, func(r result.Ratio) result.Cell { return r.Cell })
}

// verdictOf is a ratio in the form of a verdict.
func verdictOf(r result.Ratio) result.Verdict {
	return result.Verdict{Metric: r.Metric, A: r.Arm, Cell: r.Cell, Ratio: r.Ratio, CI: r.CI, Bound: r.Bound,
		Decision: r.Decision, Reason: r.Reason, Cause: r.Cause, Kind: "baseline", Secondary: r.Secondary, PRanks: r.PRanks, Unfit: r.Unfit}
}

func otherMetricsOfRuns(p *page, c result.Comparison) {
	var all []result.Verdict
	for _, r := range c.Ratios {
		all = append(all, verdictOf(r))
	}
	if t, _ := otherMetricsTable("B/A", all); len(t.rows) > 0 {
		p.heading("Other metrics")
		p.grid(t)
		p.note(otherMetricsNote("The ratio of B to A", t))
	}
}

func ratioOfRuns(r result.Ratio) string {
	if !verdictOf(r).HasRatio() {
		return none
	}
	return ratioInTable(r.Ratio, r.Bound)
}

func intervalOfRuns(r result.Ratio) string {
	if !verdictOf(r).HasRatio() {
		return ""
	}
	return interval(r.CI)
}

// valuesOfRuns are the values of B and A in a sentence.
func valuesOfRuns(r result.Ratio) string {
	one := func(value float64, bound result.ValueBound) string {
		text := valueOfRun(r, value, bound)
		if r.Metric == "followed" && text != never {
			text += " ms"
		}
		return text
	}
	return one(r.B, r.BBound) + " against " + one(r.A, r.ABound)
}

// inWords says what B is compared with A.
func inWords(r result.Ratio) string {
	if r.Unfit {
		return noVerdict
	}
	for _, s := range secondaries {
		if said, ok := map[string]string{"better": s.better, "worse": s.worse, "equivalent": "the same"}[r.Decision]; ok && s.metric == r.Metric {
			return said
		}
	}
	return cmp.Or(comparativeOf(r.Metric).words(r.Decision), clean(r.Decision))
}
