package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// Answer is the finding of a run in a sentence or two. If backends were added, removed or killed, it
// names the arms that lost calls and how soon each recovered. Otherwise it summarizes the verdicts on
// the first headline metric on which any is decided, and what is decided on the next. An arm that failed in every
// round is named too, and so is an event that rpclab could not perform.
func Answer(d result.Document) string {
	if !measured(d) && !searched(d) {
		return "Nothing was measured, so there is no answer."
	}
	text := found(d)
	if unperformed := unperformedInWords(d); unperformed != "" && !asksAboutEvents(d) { // else found says so
		text += " But " + unperformed + "."
	}
	return text + unmeasured(d)
}

// unmeasured names the arms of which no trial was measured, and why: the first reason, if there are others. "": there are
// no such arms.
func unmeasured(d result.Document) (text string) {
	for _, a := range d.Arms {
		failed := func(t result.Trial) bool { return t.Failed != "" }
		if d.Partial || len(a.Trials) == 0 || slices.ContainsFunc(a.Trials, func(t result.Trial) bool { return !failed(t) }) {
			continue
		}
		const longest = 100 // that an answer quotes
		reasons := a.FailedTrials()
		why := reasons[0]
		why.Varies = why.Varies || len(reasons) > 1
		rounds := result.RoundsOf(a.Trials)
		in := map[bool]string{true: " in any of " + plural(rounds, "round")}[rounds > 1]
		text += fmt.Sprintf(" %s gave no measurement%s%s%s.", clean(a.Name)+at(a.Cell), in, why.Before(), cut(clean(failure.WithoutLog(why.Reason)), longest))
	}
	return text
}

// found is what the verdicts or the events of a run say.
func found(d result.Document) string {
	metrics := headlines(d)
	switch {
	case asksAboutEvents(d):
		return answerOfEvents(d)
	}
	var sentences []string
	for _, metric := range metrics {
		all := outcomes(d, metric)
		if len(sentences) == 2 || !slices.ContainsFunc(all, outcome.decided) {
			continue
		}
		if len(sentences) == 1 { // the first sentence names the undecided arms
			all = slices.DeleteFunc(all, func(o outcome) bool { return !o.decided() })
		}
		sentences = append(sentences, comparativeOf(metric).where+strings.Join(answers(d, all, metric), "; ")+".")
	}
	have, text, few := fewPairs(d)
	switch {
	case len(sentences) > 0:
		return strings.Join(sentences, " ")
	case len(metrics) > 0 && d.Partial:
		return "No verdict yet: rounds are missing."
	case len(metrics) > 0 && few:
		needed := roundsNeeded(d)
		rounds := int(math.Ceil(float64(d.Rounds*needed) / float64(max(have, 1)))) // more than needed if a group is of several rounds
		if d.Ended == result.EndedTime {
			return fmt.Sprintf("No verdict: only %s fit in the time limit, and at least %d are needed to tell a difference from chance: use %s.",
				text, needed, timeFor(d, rounds))
		}
		return fmt.Sprintf("No verdict: %s, and at least %d are needed to tell a difference from chance%s.", text, needed, inMoreRounds(d, rounds))
	case len(metrics) > 0 && noneFit(d):
		return "No verdict: " + cmp.Or(bottleneck(d), "the full report says why") + "."
	case len(metrics) > 0:
		all, could := outcomes(d, metrics[0]), ""
		if ci := rangeOf(all); ci[1] > 0 {
			if metrics[0] != "failed" {
				could = fmt.Sprintf(": %s between %s and %s", shortName(metrics[0]), percentChange(ci[0]), percentChange(ci[1]))
			}
			for _, clause := range unjudged(all) {
				could += "; " + clause
			}
		}
		return "No difference found between " + clean(d.Baseline) + " and any other arm" + could + "."
	}
	if len(d.Arms) == 1 && !searched(d) && !d.Arms[0].Latency.Empty() {
		return oneArm(d.Arms[0])
	}
	if slices.Contains(d.Headline, "failed") && noneLost(d) {
		return lostInWords(d) + "."
	}
	return "No verdict: no two arms were compared."
}

// noneLost reports whether several arms were measured and lost no call, so there is nothing to compare.
func noneLost(d result.Document) bool {
	var calling int
	for _, of := range lossesByArm(d) {
		if of.lost > 0 {
			return false
		}
		if of.due > 0 {
			calling++
		}
	}
	return calling > 1
}

// oneArm is the answer of a run with one arm.
func oneArm(a result.Arm) string {
	latency := func(percentile string) string { return bounded(a.Latency.Figure(percentile), ms) + " ms" }
	return fmt.Sprintf("%s calls/s: p50 %s, p99 %s, %s of %s calls failed.",
		ThreeDigits(a.Answered()), latency("p50"), latency("p99"), count(a.Failed()+a.Dropped), count(a.Calls+a.Dropped))
}

// fewPairs returns the number of rounds, or of the groups of cycles of arms that took turns, as a number and in words,
// and whether it is too small for any headline verdict to tell a difference from chance.
func fewPairs(d result.Document) (have int, text string, few bool) {
	if !inTurns(d) {
		return d.Rounds, plural(d.Rounds, "round"), d.Rounds < roundsNeeded(d)
	}
	unit := "round"
	for _, v := range d.Verdicts {
		notTested := v.Cause != nil && v.Cause.Kind == result.CauseNotTested
		if !v.Kind.AnswersQuestion() || v.Secondary || notTested {
			continue
		}
		if v.Rounds >= fewestRounds {
			return 0, "", false
		}
		have, few = max(have, v.Rounds), true
		if v.Cycles > 0 {
			unit = "group"
		}
	}
	if text = plural(have, unit); unit == "group" {
		text += " of cycles"
	}
	return have, text, few
}

// timeFor returns the flags of a run with a time limit in which a number of rounds fit with a fifth to spare.
func timeFor(d result.Document, rounds int) string {
	flag := "--for "
	if d.Quick {
		flag = "--quick --for "
	}
	if d.Finished == nil || d.Rounds == 0 {
		return flag + "a longer time"
	}
	return flag + timeLimit(time.Duration(1.2*float64(d.Finished.Sub(d.Started))*float64(rounds)/float64(d.Rounds)))
}

// noneFit reports whether the numbers of every headline verdict are unfit for a decision.
func noneFit(d result.Document) bool {
	return !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Kind.AnswersQuestion() && !v.Secondary && !v.Unfit })
}

// bottleneck names the arms in which the load generator was the bottleneck.
func bottleneck(d result.Document) string {
	if names := limitedArms(d); len(names) > 0 {
		return "the load generator was the bottleneck in " + some(names, len(armNames(d)))
	}
	return ""
}

// answeredMetric is the headline metric that the answer is on: the first on which anything is
// decided, else the first; "" without verdicts.
func answeredMetric(d result.Document) string {
	all := headlines(d)
	for _, metric := range all {
		if slices.ContainsFunc(outcomes(d, metric), outcome.decided) {
			return metric
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
