package main

import (
	"fmt"
	"math"
	"slices"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// mostMarked is the share of trials, or of headline verdicts, that guards may mark: the page names them. Over it, the
// run measured the machine.
const mostMarked = 0.1

// marks says why a run may not become a page: what guards marked, or that it decided nothing. None: it may. The trials
// of some arms are meant to fail.
func marks(d result.Document, fails ...string) (why []string) {
	if d.Partial {
		why = append(why, "the run ended early")
	}
	disturbed := map[[2]string]bool{} // trials
	for _, w := range d.MachineWarnings {
		switch {
		case w.Arm == "":
			why = append(why, report.Clean(w.Text))
		case w.Round > 0:
			for _, round := range append([]int{w.Round}, w.Rounds...) {
				disturbed[[2]string{w.Arm + w.Cell.Key(), fmt.Sprint(round)}] = true
			}
		}
	}
	if all := trials(d); over(len(disturbed), all) {
		why = append(why, fmt.Sprintf("a process did not run for a time in %d of %d trials", len(disturbed), all))
	}
	return append(why, markedVerdicts(d, fails)...)
}

func trials(d result.Document) (n int) {
	for _, arm := range d.Arms {
		n += len(arm.Trials)
	}
	return n
}

// markedVerdicts says what guards marked among the headline verdicts.
func markedVerdicts(d result.Document, fails []string) (why []string) {
	pairs, judged, byCause := 0, 0, map[result.CauseKind]int{}
	for _, v := range d.Verdicts {
		switch {
		case v.Secondary || slices.Contains(fails, v.A):
		case v.Kind == result.OfControl && slices.Contains([]string{"better", "worse"}, v.Decision):
			why = append(why, fmt.Sprintf("the A/A control %s differs from %s in %s", v.A, v.B, v.Metric))
		case v.Kind.AnswersQuestion():
			pairs++
			if v.Cause != nil {
				byCause[v.Cause.Kind]++
			}
			if v.Cause == nil || v.Cause.Kind != result.CauseRounds {
				judged++
			}
		}
	}
	for _, cause := range []struct {
		kind result.CauseKind
		text string
	}{
		{result.CauseGenerator, "the load generator was the bottleneck"},
		{result.CauseInterference, "other machines or a quota withheld CPU time"},
		{result.CauseClock, "the clock is too coarse"},
		{result.CauseFailedTrials, "trials have no measurement"},
		{result.CauseEvent, "events were not performed"},
	} {
		if n := byCause[cause.kind]; over(n, pairs) {
			why = append(why, fmt.Sprintf("%s in %d of %d headline verdicts", cause.text, n, pairs))
		}
	}
	if pairs > 0 && judged == 0 {
		why = append(why, fmt.Sprintf("%d rounds are too few for a verdict: allow more time", d.Rounds))
	}
	if pairs == 0 {
		why = append(why, "nothing was compared")
	}
	return why
}

func over(marked, all int) bool { return marked > int(math.Floor(mostMarked*float64(all))) }
