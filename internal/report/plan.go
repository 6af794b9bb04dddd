package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
)

// Plan writes for the terminal what a run will do.
func Plan(w io.Writer, d result.Plan, o Options) error {
	var p page
	p.title(strings.Trim(clean(d.Experiment)+": "+clean(d.Question), ": "))
	text := plural(len(d.Arms), "arm")
	if d.Cells > 1 {
		text += " in " + plural(d.Cells, "cell")
	}
	p.say(text + ", " + clean(d.Design) + ": " + clean(strings.Join(d.Arms, ", ")) + ".")
	plannedRuns(&p, d)
	for _, live := range d.Disrupts {
		p.alarm(fmt.Sprintf("--allow-disruption: each of its trials, up to %d, changes the live pods of %s: %s.", d.Most.Trials, clean(live.Service), clean(live.Events)))
	}
	p.item(startsOfPlan(d) + memoryOfPlan(d))
	if d.Groups != nil {
		p.item(groupsInWords(*d.Groups))
	}
	if len(d.Missing) > 0 {
		p.alarm("Not installed: " + clean(strings.Join(d.Missing, ", ")) + ". Install them with `rpclab doctor --install`.")
	}
	if len(d.Unavailable) > 0 {
		p.alarm("Not installed, and not available on this platform: " + clean(strings.Join(d.Unavailable, ", ")) + ". Arms that need them do not run.")
	}
	started := "Nothing was started."
	if d.PilotMS > 0 {
		started = "Only the pilot was started, and it has ended."
	}
	p.item(started + " Run it: `" + clean(d.Command) + "`")
	return writeTerminal(w, p, o)
}

// startsOfPlan says what a run has at a time, and where.
func startsOfPlan(d result.Plan) string {
	if d.On == "kubernetes" {
		return fmt.Sprintf("It starts about %s at a time, in pods of a namespace of its own.", plural(d.Processes, "container"))
	}
	return fmt.Sprintf("It starts about %s at a time, on free loopback ports. One of them opens up to %s.",
		plural(d.Processes, "process"), plural(d.Files, "file"))
}

func memoryOfPlan(d result.Plan) string {
	if d.Memory == nil {
		return fmt.Sprintf(" They need about %.0f MB of memory.", float64(d.MemoryEstimate)/1e6)
	}
	return fmt.Sprintf(" Earlier runs used up to %.0f MB.", float64(*d.Memory)/1e6)
}

// plannedRuns has a row for the run at its first look and one for its end.
func plannedRuns(p *page, d result.Plan) {
	metrics := slices.Sorted(maps.Keys(d.Most.Tells))
	t := table{columns: []column{{"the run", false}, {"rounds", true}, {"trials", true}, {"takes", true}}}
	for _, metric := range metrics {
		t.columns = append(t.columns, column{"detects " + shortName(metric), true})
	}
	add := func(name string, run result.PlannedRun) {
		row := []string{name, number(float64(run.Rounds)), number(float64(run.Trials)), timeOfPlan(run)}
		for _, metric := range metrics {
			difference := "–" // too few rounds for a verdict
			if ratio, known := run.Tells[metric]; known {
				difference = detectable(ratio)
			}
			row = append(row, difference)
		}
		t.rows = append(t.rows, row)
	}
	if d.Fewest.Rounds < d.Most.Rounds {
		add("if decided at the first look", d.Fewest)
		add("at most", d.Most)
	} else {
		add("fixed rounds", d.Most)
	}
	p.grid(t)
	if d.TimeLimitMS > 0 {
		limit := about(time.Duration(d.TimeLimitMS) * time.Millisecond)
		p.item("It begins no round that would end after " + limit + ".")
		if least := d.Fewest; least.LoadMS > float64(d.TimeLimitMS) || least.TookMS != nil && least.TookMS[0] > float64(d.TimeLimitMS) {
			p.alarm(fmt.Sprintf("The time limit is too short for a verdict: %s take %s.", plural(least.Rounds, "round"), timeOfPlan(least)))
		}
	}
	from, load := sourceOfPlan(d)
	switch most := d.Most; {
	case most.TookMS != nil:
		text := "takes: estimated from the starts and calls of " + from + ". A busier machine takes longer."
		if d.PilotMS > 0 {
			text += " Arms that it did not measure may start more slowly."
		}
		p.item(text)
	case most.LoadMS > 0:
		p.item("takes: the time of the loads alone. How long starts and calls take is not known.")
	}
	if len(d.Arms) == 1 { // no number of rounds gives it a verdict, and no earlier run a noise
		p.item("The run compares no arms: it has one.")
		return
	}
	if text := ranksOfPlan(d); text != "" {
		p.item(text)
	}
	for _, metric := range d.TooFewCalls {
		text := shortName(metric) + " has no verdict at any number of rounds: a trial has too few calls. Make more"
		if strings.Contains(d.Command, " --quick") {
			text += ", or leave out --quick"
		}
		p.item(text + ".")
	}
	if len(metrics) > 0 {
		text := "detects: the smallest difference that 80 % of such runs detect in every pair, estimated from the noise of " + from + "."
		if d.Scaled {
			text += load + " had another length; longer loads have less noise."
		}
		p.item(text)
		return
	}
	if d.Most.Rounds < d.RoundsForVerdict {
		p.alarm(fmt.Sprintf("The run detects no difference: a verdict needs %s. Add --rounds %d.", plural(d.RoundsForVerdict, "round"), d.RoundsForVerdict))
		return
	}
	if d.ShowsNoNoise() {
		if d.Most.InOrder == 0 && len(d.ByRank) > 0 {
			p.item("The differences that it detects are not known: rounds in turns, which are compared by rank, may depend on each other.")
		}
		return
	}
	why := "no run of this experiment on this machine is stored"
	switch {
	case d.PilotMS > 0:
		why = "the pilot shows none for this headline"
	case len(d.From) > 0:
		why = "the earlier runs had too few rounds"
	}
	advice := "Trials of --quick have too few calls to measure the noise."
	if d.Pilot != "" {
		advice = "A short run measures the noise: `" + clean(d.Pilot) + "`" + pilotAdvice(d)
	}
	p.item("The differences that it detects are not known: " + why + ". " + advice)
}

// ranksOfPlan says which differences of metrics that are compared by rank the run detects; "": there are none, or it has too
// few rounds.
func ranksOfPlan(d result.Plan) string {
	if d.Most.InOrder == 0 {
		return ""
	}
	var names []string
	for _, metric := range d.ByRank {
		names = append(names, shortName(metric))
	}
	detects := func(run result.PlannedRun) string {
		if run.InOrder == 1 {
			return fmt.Sprintf("in %d rounds if every trial of one arm exceeds every trial of the other", run.Rounds)
		}
		return fmt.Sprintf("in %d rounds if trials of one arm exceed those of the other in %.0f %% of all pairs", run.Rounds, math.Ceil(100*run.InOrder-1e-9))
	}
	text := detects(d.Most)
	if first := d.Fewest; first.InOrder > 0 && first.Rounds < d.Most.Rounds {
		text = detects(first) + ", " + text
	}
	return and(names) + ": compared by rank, so a difference is detected " + text + "."
}

// sourceOfPlan returns what was measured before, and its load at the start of a sentence.
func sourceOfPlan(d result.Plan) (from, load string) {
	switch len(d.From) {
	case 0:
		return "a pilot of " + about(inMS(d.PilotMS)), " Its load"
	case 1:
		return "run " + clean(d.From[0]), " Its load"
	}
	return fmt.Sprintf("%d runs, the last %s", len(d.From), clean(d.From[0])), " Their loads"
}

func pilotAdvice(d result.Plan) string {
	if len(d.From) > 0 || d.PilotMS > 0 || d.On == "kubernetes" { // a pilot measures this machine
		return ""
	}
	return ", or about 5 s of it: --plan --pilot"
}

func timeOfPlan(run result.PlannedRun) string {
	if took := run.TookMS; took != nil {
		low, high := inMS(took[0]), inMS(took[1])
		if about(low) == about(high) {
			return "about " + about(high)
		}
		return timesFromTo(low, high)
	}
	if run.LoadMS > 0 {
		return "over " + about(inMS(run.LoadMS))
	}
	return "not known"
}
