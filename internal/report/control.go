package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// controls says what the A/A arms show: whether the lab sees a difference where
// there is none.
func controls(p *page, d result.Document) {
	type pair struct{ a, b string }
	var pairs []pair
	byPair := map[pair][]result.Verdict{}
	for _, v := range d.Verdicts {
		if v.Kind != "control" || v.Secondary {
			continue
		}
		key := pair{clean(v.A), clean(v.B)}
		if _, known := byPair[key]; !known {
			pairs = append(pairs, key)
		}
		byPair[key] = append(byPair[key], v)
	}
	for _, key := range pairs {
		text, bad := controlText(key.a, key.b, byPair[key])
		if bad {
			p.warn(text)
		} else {
			p.say(text)
		}
	}
}

// controlText is bad when the same was called different.
func controlText(a, b string, all []result.Verdict) (text string, bad bool) {
	var different, silent []string
	unseen := 0.0 // the largest difference that an interval leaves open, as a share
	judged, equivalent := 0, 0
	for _, v := range all {
		switch {
		case v.Decision == "better" || v.Decision == "worse":
			different = append(different, fmt.Sprintf("%s%s (%s, %s–%s)",
				metricName(v.Metric), at(v.Cell), ratio(v.Ratio), ratio(v.CI[0]), ratio(v.CI[1])))
		case v.Decision == "equivalent":
			judged, equivalent = judged+1, equivalent+1
		case ofTheInterval(v):
			judged++
			unseen = max(unseen, v.CI[1]-1, 1-v.CI[0])
		default:
			if why := at(v.Cell) + ": " + clean(v.Reason); !slices.Contains(silent, why) {
				silent = append(silent, why)
			}
		}
	}
	who := fmt.Sprintf("The control %s, which is %s once more, ", a, b)
	nothing := "says nothing" + strings.Join(silent, "; nothing")
	switch {
	case len(different) > 0:
		return fmt.Sprintf("Careful: the control %s is %s once more, yet it was called different %s. "+
			"Take differences of this size in this run for noise.", a, b, strings.Join(different, "; ")), true
	case judged == 0:
		return who + nothing + ".", false
	case equivalent == judged:
		text = "is as fast as it: the lab sees no difference where there is none."
	default:
		text = fmt.Sprintf("was not called different from it; a difference of up to %s could not have been seen.", atMost(unseen))
	}
	if len(silent) > 0 {
		text += " It " + nothing + "."
	}
	return who + text, false
}

// ofTheInterval says whether an undecided verdict is so by its numbers, and not for
// want of numbers that can be judged.
func ofTheInterval(v result.Verdict) bool {
	return v.CI != [2]float64{} && (v.Reason == "" || strings.HasPrefix(v.Reason, aboutInterval))
}

// aboutInterval begins the reasons that a verdict gives for an interval.
const aboutInterval = "the interval"

// atMost rounds a share up: under 10 % to a tenth of a percent.
func atMost(share float64) string {
	step := 1.0
	if share < 0.1 {
		step = 10
	}
	return fmt.Sprintf("%g %%", math.Ceil(share*100*step-1e-9)/step)
}
