package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
)

// power lists the differences that the run could detect, and how long a run must be to detect smaller ones.
func power(p *page, d result.Document) {
	type row struct{ arm, metric string }
	var rows []row
	ranges := map[row]*[3]figures{}
	for _, v := range d.Verdicts {
		if v.Power == nil || v.Unfit || !v.Kind.AnswersQuestion() {
			continue
		}
		key := row{clean(v.A), shortName(v.Metric)}
		ratios := [3]float64{v.Power.Ratio50, v.Power.Ratio80, v.Power.Ratio95}
		if ranges[key] == nil {
			rows = append(rows, key)
			ranges[key] = &[3]figures{{ratios[0], ratios[0]}, {ratios[1], ratios[1]}, {ratios[2], ratios[2]}}
		}
		for i, ratio := range ratios {
			ranges[key][i].include(ratio)
		}
	}
	if len(rows) == 0 {
		return
	}
	t := table{columns: []column{{"detectable differences", false}, {"metric", false}, {"by 50 % of runs", true}, {"by 80 %", true}, {"by 95 %", true}}}
	for _, key := range rows {
		cells := []string{key.arm, key.metric}
		for _, of := range ranges[key] {
			cells = append(cells, fromTo(of.low, of.high, detectable))
		}
		t.rows = append(t.rows, cells)
	}
	p.grid(t)
	p.note("Detectable differences: the smallest true differences that 50, 80 and 95 % of such runs detect, if the noise stays the same (power).")
	longer(p, d)
}

// longer lists how long a run must be to detect smaller differences.
func longer(p *page, d result.Document) {
	for _, l := range d.Longer {
		p.item(longerInWords(d, l))
	}
	if turnsWouldHelp(d) {
		p.item(turnsInWords)
	}
}

const turnsInWords = "--set design=interleaved may detect smaller differences of latency in this time."

// turnsWouldHelp reports whether isolated arms, whose loads could take turns, leave a latency undecided. The design of
// published studies has its reasons.
func turnsWouldHelp(d result.Document) bool {
	cannot := func(arm result.Arm) bool {
		return arm.Capacity != nil || arm.SettingsByPath()["load.closed.ramp"] != nil
	}
	if d.Design != "isolated" || len(d.Events) > 0 || len(d.Published) > 0 || slices.ContainsFunc(d.Arms, cannot) {
		return false
	}
	return slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool {
		return strings.HasPrefix(v.Metric, "latency_") && v.Power != nil && v.Kind.AnswersQuestion() && v.Cause != nil && v.Cause.Kind == result.CauseInterval
	})
}

// maxDetectable is the largest ratio that is printed as a difference. The noise of a few rounds says no more about larger ones.
const maxDetectable = 100

// detectable formats a ratio over 1 as a difference.
func detectable(ratio float64) string {
	if ratio > maxDetectable {
		return fmt.Sprintf("over %d-fold", maxDetectable)
	}
	return atMost(ratio - 1)
}

// longerInWords says with which flags a run detects a difference and how much longer it takes, in one line of
// a summary.
func longerInWords(d result.Document, l result.Longer) string {
	return fmt.Sprintf("To detect a difference of %s %s, use %s: %s longer (%s).",
		percentOf(l.Difference), inMetric(l.Metric), longerFlags(d, l), about(inMS(l.MoreMS)), timesFromTo(inMS(l.MoreCI[0]), inMS(l.MoreCI[1])))
}

// longerFlags are the flags of the longer run: those that gave this run its loads and its end.
func longerFlags(d result.Document, l result.Longer) string {
	flags := fmt.Sprintf("--rounds %d", l.Rounds)
	if endsByTime(d) {
		flags = "--for " + timeLimit(inMS(float64(d.TimeLimitMS)+l.MoreMS))
	}
	if d.Quick {
		flags = "--quick " + flags
	}
	return flags
}

// endsByTime reports whether the time decides how many rounds a run has. A --quick run has a limit that few meet.
func endsByTime(d result.Document) bool {
	return d.TimeLimitMS > 0 && (len(d.Looks) > 0 || d.Ended == result.EndedTime)
}

// timeLimit is a time limit as --for takes it: whole seconds, or whole minutes from ten on.
func timeLimit(d time.Duration) string {
	unit := time.Second
	if d >= 10*time.Minute {
		unit = time.Minute
	}
	text := (d + unit - 1).Truncate(unit).String()
	if minutes, whole := strings.CutSuffix(text, "m0s"); whole {
		return minutes + "m"
	}
	return text
}

// timesFromTo is a range of times, with the unit once if both have the same.
func timesFromTo(from, to time.Duration) string {
	low, high := about(from), about(to)
	number, unit, _ := strings.Cut(low, " ")
	if strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " to " + high
}

func inMS(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func percentOf(share float64) string { return fmt.Sprintf("%g %%", math.Round(1000*share)/10) }

// atMost rounds a share up: under 10 % to a tenth of a percent.
func atMost(share float64) string {
	step := 1.0
	if share < 0.1 {
		step = 10
	}
	return fmt.Sprintf("%g %%", math.Ceil(share*100*step-1e-9)/step)
}
