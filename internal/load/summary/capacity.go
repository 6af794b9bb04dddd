package summary

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// capacity prints the result of a capacity search. held says that it found a rate that holds.
func capacity(out io.Writer, arm result.Arm, held bool) {
	if arm.Capacity == nil {
		return
	}
	fmt.Fprintln(out)
	if c := arm.Capacity; c.Rate > 0 {
		text := "Capacity: " + rate(c.Rate) + " calls/s"
		rounds := fmt.Sprintf("%d rounds", c.Count)
		if n := len(arm.Trials); c.Count < n {
			rounds = fmt.Sprintf("%d of %d rounds", c.Count, n)
		}
		switch {
		case c.Count > 1:
			text += fmt.Sprintf(", the median of %s (%s to %s)", rounds, rate(c.Low), rate(c.High))
		case len(arm.Trials) > 1:
			text += ", in " + rounds
		}
		paragraph(out, text)
	}
	var last *result.Capacity
	for _, t := range arm.Trials {
		if t.Capacity == nil {
			continue
		}
		last = t.Capacity
		text := found(*last, t.Limited)
		if len(arm.Trials) > 1 {
			text = fmt.Sprintf("Round %d: %s", t.Round, text)
		}
		paragraph(out, text)
	}
	if last != nil {
		probes(out, *last, len(arm.Trials) > 1)
	}
	if held {
		fmt.Fprintln(out)
		paragraph(out, "At the highest rate that held in each round:")
	}
}

// found says what a search found.
func found(c result.Capacity, limited string) string {
	made := fmt.Sprintf("%d probes", len(c.Probes))
	if len(c.Probes) == 1 {
		made = "1 probe"
	}
	text := fmt.Sprintf("%s holds in none of %s", c.SLO, made)
	highest, full := highestHeld(c.Probes)
	switch {
	case c.Holds > 0 && c.Fails > 0:
		text = fmt.Sprintf("%s holds at %s/s and fails at %s/s, %s", c.SLO, rate(c.Holds), rate(c.Fails), made)
	case c.Holds > 0:
		text = fmt.Sprintf("%s holds at %s/s, %s", c.SLO, rate(c.Holds), made)
	case highest > 0:
		text = fmt.Sprintf("%s holds at %s/s in a short probe, %s", c.SLO, rate(highest), made)
	case len(c.Probes) == 0 && c.End == string(search.Interrupted):
		return fmt.Sprintf("the search for %s was interrupted in its first probe", c.SLO)
	}
	switch search.End(c.End) {
	case search.OutOfProbes:
		text += "; more would be needed for the precision"
	case search.HighestHolds:
		text += "; that is the highest rate (--search-to)"
	case search.GeneratorLimited:
		switch {
		case c.Holds > 0:
			text += "; above that"
		case highest > 0:
			text += "; in those of full length"
		default:
			text += ", because"
		}
		text += " the load generator was the bottleneck: " + limited
	case search.Interrupted:
		text += "; then the search was interrupted"
		if !full {
			text += ", before a probe of full length"
		}
	}
	return text
}

// highestHeld returns the highest rate of a short probe that held; 0: none did. full says that there is a probe of full length.
func highestHeld(probes []result.Probe) (rate float64, full bool) {
	for _, p := range probes {
		full = full || p.Full
		if p.Held && !p.Full {
			rate = max(rate, p.Rate)
		}
	}
	return rate, full
}

// probes prints latency against rate.
func probes(out io.Writer, c result.Capacity, several bool) {
	if len(c.Probes) == 0 {
		return
	}
	all := slices.Clone(c.Probes)
	slices.SortStableFunc(all, func(a, b result.Probe) int { return cmp.Compare(a.Rate, b.Rate) })
	title := ""
	if several {
		title = "   of the last round"
	}
	fmt.Fprintf(out, "\n%-9s%8s %9s %9s %9s%s\n", "calls/s", "seconds", "p50 ms", "p99 ms", "lost", title)
	for _, p := range all {
		verdict := "holds"
		switch {
		case p.Limited != "":
			verdict = "generator"
		case !p.Held:
			verdict = "fails"
		}
		fmt.Fprintf(out, "%-9s%8.4g %9s %9s %9s   %s\n", rate(p.Rate), p.DurationMS/1e3,
			atLeast(p.Latency().Figure("p50")), atLeast(p.Latency().Figure("p99")), count(p.Errors+p.Dropped), verdict)
	}
}
