package main

import (
	"fmt"
	"math"
	"strings"

	"rpclab/internal/verdict"
)

// goal is what runs of channels must show: rpclab's promise for a quiet machine, and for one with a neighbour.
type goal struct {
	text, measured string
	reached        bool
}

// Promises of a quiet run of channels.
const (
	slowestRun            = 25.0 // seconds
	widestP50, widestP99  = 0.05, 0.2
	slower, p50, p99      = "new-channel", "latency_p50", "latency_p99"
	equivalent, undecided = "equivalent", "undecided"
)

func goals(quiet, busy *tally) []goal {
	wrong, verdicts, _ := contradictions(quiet, busy)
	wrongQuiet, verdictsQuiet, _ := contradictions(quiet, quiet)
	wider, comparisons, factor := widening(quiet, busy)
	slowest := 0.0
	for _, s := range quiet.seconds {
		slowest = max(slowest, s)
	}
	found := 0
	if o := quiet.outcomes[slower+" | "+p50]; o != nil {
		found = o.decisions["worse"]
	}
	return []goal{
		{"every run with the neighbour warns of it", fmt.Sprintf("%d of %d runs", busy.warned, busy.count), busy.warned == busy.count},
		{"no verdict with the neighbour contradicts the quiet runs, or calls the control different", fmt.Sprintf("%d of %d verdicts do", wrong, verdicts), wrong == 0},
		{"no verdict of a quiet run contradicts most quiet runs, or calls the control different", fmt.Sprintf("%d of %d verdicts do", wrongQuiet, verdictsQuiet), wrongQuiet == 0},
		{"most intervals are wider with the neighbour", fmt.Sprintf("%d of %d comparisons; %.2f × as wide in the median", wider, comparisons, factor), 2*wider > comparisons},
		{fmt.Sprintf("a quiet run takes %.0f s at most", slowestRun), fmt.Sprintf("%.0f s (slowest)", slowest), slowest <= slowestRun},
		{"every quiet run calls new-channel slower at p50", fmt.Sprintf("%d of %d runs", found, quiet.count), found == quiet.count},
		quiet.within(p50, widestP50),
		quiet.within(p99, widestP99),
	}
}

// within is the goal that quiet runs show every route but new-channel to differ by at most so much on a metric.
func (r *tally) within(metric string, most float64) goal {
	inside, all, largest := 0, 0, 0.0
	for _, name := range r.names {
		if o := r.outcomes[name]; strings.HasSuffix(name, " | "+metric) && !strings.HasPrefix(name, slower+" ") {
			for _, n := range o.decisions {
				all += n // also those without an interval
			}
			for i := range o.low {
				beyond := max(o.high[i], 1/o.low[i]) - 1
				largest = max(largest, beyond)
				if beyond <= most {
					inside++
				}
			}
		}
	}
	return goal{fmt.Sprintf("quiet runs show the %s of every other route within ±%.0f %%", strings.TrimPrefix(metric, "latency_"), 100*most),
		fmt.Sprintf("%d of %d verdicts; ±%.1f %% (widest interval)", inside, all, 100*largest), all > 0 && inside == all}
}

// truth is the decision on a comparison that most runs made which decided; empty: none decided. A control is equivalent.
func (o *outcome) truth() (decision string) {
	if o.control {
		return equivalent
	}
	most := 0
	for _, d := range []string{"better", "worse", equivalent} {
		if o.decisions[d] > most {
			decision, most = d, o.decisions[d]
		}
	}
	return decision
}

// tied reports whether as many runs made another decision as made that of truth.
func (o *outcome) tied() bool {
	truth, ties := o.truth(), 0
	for _, d := range []string{"better", "worse", equivalent} {
		if truth != "" && o.decisions[d] == o.decisions[truth] {
			ties++
		}
	}
	return ties > 1 && !o.control
}

// contradictions returns how many verdicts of some runs contradict the quiet runs, of how many decided ones, and how many
// decided verdicts have no quiet run to compare with, or as many that contradict each other.
func contradictions(quiet, judged *tally) (wrong, verdicts, unknown int) {
	for _, name := range judged.names {
		truth := ""
		if o := quiet.outcomes[name]; o != nil && (judged == quiet || !o.tied()) {
			truth = o.truth()
		}
		for decision, n := range judged.outcomes[name].decisions {
			switch {
			case decision == undecided:
			case truth == "":
				unknown += n
			case decision == truth:
				verdicts += n
			default:
				wrong, verdicts = wrong+n, verdicts+n
			}
		}
	}
	return wrong, verdicts, unknown
}

// widening returns in how many comparisons the median interval is wider with the neighbour, of how many, and by what factor
// in the median comparison.
func widening(quiet, busy *tally) (wider, comparisons int, factor float64) {
	var factors []float64
	for _, name := range busy.names {
		a, b := quiet.outcomes[name], busy.outcomes[name]
		if a == nil || len(a.low) == 0 || len(b.low) == 0 {
			continue
		}
		factors = append(factors, b.width()/a.width())
		if b.width() > a.width() {
			wider++
		}
	}
	return wider, len(factors), verdict.Median(factors)
}

// width is the median width of the intervals, on a logarithmic scale.
func (o *outcome) width() float64 {
	var widths []float64
	for i := range o.low {
		widths = append(widths, math.Log(o.high[i]/o.low[i]))
	}
	return verdict.Median(widths)
}

// answer begins the page.
func answer(quiet, busy *tally) string {
	wrong, verdicts, _ := contradictions(quiet, busy)
	_, _, factor := widening(quiet, busy)
	all, missed := goals(quiet, busy), []string{}
	for _, g := range all {
		if !g.reached {
			missed = append(missed, g.text+" ("+g.measured+")")
		}
	}
	text := fmt.Sprintf("**%s: beside a program that used half of a CPU, %d of %d verdicts contradicted the quiet runs or called the control different. %d of %d runs warned of the program, and intervals were %.2f times as wide.**",
		map[bool]string{true: "No", false: "Yes"}[wrong == 0], wrong, verdicts, busy.warned, busy.count, factor)
	if len(missed) > 0 {
		text += fmt.Sprintf(" %d of %d goals were missed: %s.", len(missed), len(all), strings.Join(missed, "; "))
	}
	return text
}

// goalsTable is a table of the goals, and a sentence on what they do not check.
func goalsTable(quiet, busy *tally) string {
	var b strings.Builder
	b.WriteString("| goal | measured | |\n|---|---|---|\n")
	for _, g := range goals(quiet, busy) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.text, g.measured, map[bool]string{true: "reached", false: "**missed**"}[g.reached])
	}
	_, _, unknown := contradictions(quiet, busy)
	fmt.Fprintf(&b, "\nThe true ratios are not known. So a verdict counts as wrong if it contradicts what most quiet runs decide. %d verdicts with the neighbour are not checked, because no quiet run decided the comparison, or as many decided one way as the other.\n", unknown)
	return b.String()
}
