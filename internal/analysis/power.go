package analysis

import (
	"math"
	"slices"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// longerRuns returns, for each headline metric, how long a run must be to detect the next smaller difference in
// every undecided pair. It also adds to each of these verdicts how long a run that pair needs.
func longerRuns(d result.Document) (all []result.Longer) {
	open := map[string][]*result.Verdict{}
	var metrics []string
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Power == nil || !v.Kind.AnswersQuestion() || settled(*v) {
			continue
		}
		if !slices.Contains(metrics, v.Metric) {
			metrics = append(metrics, v.Metric)
		}
		open[v.Metric] = append(open[v.Metric], v)
	}
	took := d.Lasted()
	for _, metric := range metrics {
		worst := slices.MaxFunc(open[metric], func(a, b *result.Verdict) int {
			return int(math.Copysign(1, a.Power.Ratio80-b.Power.Ratio80))
		})
		difference, ok := nextDifference(worst.Power.Ratio80, d.Margin)
		if !ok {
			continue
		}
		for _, v := range open[metric] {
			if v.Power.Ratio80 > 1+difference {
				v.Power.Longer = longerRun(*v, difference, d, took)
			}
		}
		if worst.Power.Longer != nil {
			l := *worst.Power.Longer
			l.Metric = metric
			all = append(all, l)
		}
	}
	return all
}

// namedDifferences are the differences, as shares, that advice can name.
var namedDifferences = []float64{0.5, 0.2, 0.1, 0.05, 0.02}

// nextDifference returns 10 %, or the largest smaller difference that a comparison does not detect yet; false:
// it detects all differences that are larger than the margin.
func nextDifference(detected, margin float64) (float64, bool) {
	if margin >= 0.1 {
		for _, d := range slices.Backward(namedDifferences) {
			if d > margin {
				return d, detected > 1+d
			}
		}
		return 0, false
	}
	if margin == 0 {
		margin = verdict.DefaultMargin
	}
	for _, d := range namedDifferences {
		if d <= 0.1 && d > margin && detected > 1+d {
			return d, true
		}
	}
	return 0, false
}

// longerRun returns how long a run must be to detect a difference; nil: it needs over 1,000 values.
func longerRun(v result.Verdict, difference float64, d result.Document, took time.Duration) *result.Longer {
	made, arms := 0, d.ArmsByKey()
	for _, arm := range d.Arms {
		made = max(made, lastRound(arm)) // fewer than planned after an interrupt
	}
	ofPair := min(lastRound(arms[result.ArmKey{Name: v.A, Cell: v.Cell.Key()}]), lastRound(arms[result.ArmKey{Name: v.B, Cell: v.Cell.Key()}]))
	p := verdict.Precision{Error: v.Power.Error, Freedom: v.Power.Freedom, Rounds: float64(v.Rounds), Alpha: 1 - v.Level, Margin: d.Margin, Raised: v.Power.Raised}
	if d.TimeLimitMS == 0 { // the longer run has fixed rounds (--rounds), so no other look has a share of its error
		p.Alpha /= verdict.ErrorShare(d.Looks, ofPair)
	}
	low, high := p.Likely()
	l := result.Longer{Difference: difference}
	at := func(p verdict.Precision, least int) (rounds int, more float64) {
		rounds = max(least, int(math.Ceil(float64(p.RoundsFor(1+difference, usualPower))/p.Rounds*float64(ofPair))))
		perRound := result.Milliseconds(took) / float64(max(made, 1))
		return rounds, math.Round(perRound * float64(max(0, rounds-made)))
	}
	if p.RoundsFor(1+difference, usualPower) == verdict.MaxRounds {
		return nil
	}
	l.Rounds, l.MoreMS = at(p, ofPair+1) // this run did not detect it
	l.RoundsCI[0], l.MoreCI[0] = at(low, 0)
	l.RoundsCI[1], l.MoreCI[1] = at(high, ofPair+1)
	return &l
}
