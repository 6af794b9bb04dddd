package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// confounds says how much of a published gap remains without its confound: the gap is the published
// arm less the baseline, and the remainder the controlled arm less the baseline.
func confounds(p *page, d result.Document) {
	var shown []block
	arms := d.ArmsByKey()
	for _, c := range d.Confounds {
		t := table{columns: []column{{"", false}, {clean(c.Published), true}, {clean(c.Controlled), true},
			{clean(d.Baseline), true}, {"gap ms", true}, {"remains", true}, {"published gap", true}}}
		if c.Controlled == d.Baseline {
			t.columns[3].name = "" // it would be there twice
		}
		var why mergedReasons
		for _, a := range d.Accounts {
			if a.Published != c.Published || a.Controlled != c.Controlled {
				continue
			}
			if t.rows == nil && a.Controlled != a.Baseline {
				t.columns[3].name = clean(strings.Join(baselines(a), " and "))
			}
			t.rows = append(t.rows, accountRow(d, arms, a))
			if a.Reason != "" {
				why.add("not established: "+clean(a.Reason), nil, "")
			}
		}
		what := block{kind: sentence, text: fmt.Sprintf("%s against %s: %s", clean(c.Published), clean(c.Controlled), clean(c.What))}
		switch {
		case len(t.rows) > 0:
			shown = append(shown, what, block{kind: grid, table: &t})
		case older(d, c):
			shown = append(shown, what, block{kind: item, text: "the version of rpclab that made this result did not compute the remaining gap"})
		}
		for _, r := range why.list {
			shown = append(shown, block{kind: item, text: r.text})
		}
	}
	if len(shown) == 0 {
		return
	}
	p.heading("Confounds: what else differs between the published arms")
	p.blocks = append(p.blocks, shown...)
	if len(d.Accounts) == 0 {
		return
	}
	p.note("In ms, of the median trial: elapsed time where a load is a number of calls, else p50. gap: the published arm minus the " +
		"baseline, the mean over rounds. remains: the controlled arm minus the baseline, as a share of the gap, with its interval (" + none + ": not " +
		"established, for the reason below the table, or the controlled arm is the baseline); all intervals of this run are correct with 95 % confidence.")
}

// older says whether a result has the arms of a confound, but no account of any confound.
func older(d result.Document, c result.Confound) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Name == name })
	}
	return len(d.Accounts) == 0 && has(c.Published) && has(c.Controlled) && has(d.Baseline) && c.Published != d.Baseline
}

// baselines are the arms to which the arms of an account are compared.
func baselines(a result.Account) []string {
	if a.ControlledBaseline == "" {
		return []string{a.Baseline}
	}
	return []string{a.Baseline, a.ControlledBaseline}
}

// accountRow is one cell of a confound.
func accountRow(d result.Document, arms map[result.ArmKey]result.Arm, a result.Account) []string {
	cell := a.Cell.Key()
	published, there := arms[result.ArmKey{Name: a.Published, Cell: cell}]
	controlled := arms[result.ArmKey{Name: a.Controlled, Cell: cell}]
	baseline, known := arms[result.ArmKey{Name: a.Baseline, Cell: cell}]
	row := []string{cellName(a.Cell), trialMedian(published, a.Metric), trialMedian(controlled, a.Metric), trialMedian(baseline, a.Metric),
		ms(a.GapMS), none, ""}
	if a.ControlledBaseline != "" {
		row[3] += " and " + trialMedian(arms[result.ArmKey{Name: a.ControlledBaseline, Cell: cell}], a.Metric)
	}
	if row[0] == "" {
		row[0] = metricColumn(a.Metric)
	}
	if row[1] == none || row[2] == none || row[3] == none {
		row[4] = none
	}
	if a.Controlled == a.Baseline {
		row[3] = ""
	}
	if a.Reason == "" && a.Controlled != a.Baseline {
		row[5] = Remains(a)
	}
	if !there || !known {
		return row
	}
	theirs, is := publishedFor(d, published)
	base, has := publishedFor(d, baseline)
	switch {
	case is && has && theirs.ElapsedMS > 0 && base.ElapsedMS > 0:
		row[6] = ms(theirs.ElapsedMS - base.ElapsedMS)
	case is && theirs.ElapsedMS == 0:
		row[6] = figureText(theirs)
	}
	return row
}

// Remains is what remains of the gap of an account that has no reason to be unknown, with its interval: 4 % (−3 to 10).
func Remains(a result.Account) string {
	return fmt.Sprintf("%s %% (%s to %s)", percents(a.Remains), percents(a.CI[0]), percents(a.CI[1]))
}

// percents is a share that may be negative.
func percents(share float64) string {
	return strings.Replace(fmt.Sprintf("%.0f", math.Round(100*share)+0), "-", "−", 1)
}

func metricColumn(metric string) string {
	if metric == "elapsed" {
		return "elapsed ms"
	}
	return "p50 ms"
}

// trialMedian is the median trial of an arm on the metric of an account.
func trialMedian(arm result.Arm, metric string) string {
	var values []float64
	for _, t := range arm.Trials {
		switch {
		case t.Failed != "":
		case metric == "elapsed":
			values = append(values, t.ElapsedMS)
		default:
			values = append(values, t.Latency.P50)
		}
	}
	if len(values) == 0 {
		return none
	}
	return bounded(result.Figure{Value: median(values), Lower: metric != "elapsed" && arm.Latency.AtLeast(50)}, ms)
}
