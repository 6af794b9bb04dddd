package report

import (
	"fmt"
	"math"
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
	for _, l := range d.Longer {
		p.item(longerInWords(l))
	}
}

// detectable formats a ratio over 1 as a difference.
func detectable(ratio float64) string { return atMost(ratio - 1) }

// longerInWords says in one line of a summary how long a run must be to detect a difference.
func longerInWords(l result.Longer) string {
	more := func(ms float64) string { return about(time.Duration(ms * float64(time.Millisecond))) }
	return fmt.Sprintf("To detect %s at %s: --rounds %d, %s more (%s to %s).",
		percentOf(l.Difference), shortName(l.Metric), l.Rounds, more(l.MoreMS), more(l.MoreCI[0]), more(l.MoreCI[1]))
}

func percentOf(share float64) string { return fmt.Sprintf("%g %%", math.Round(1000*share)/10) }
