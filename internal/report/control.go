package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// controls says what the A/A arms show: whether rpclab finds a difference where
// there is none.
func controls(p *page, d result.Document) {
	for _, c := range controlTexts(d) {
		if c.bad {
			p.warn(c.text)
		} else {
			p.say(c.text)
		}
	}
}

// controlled is what one A/A arm shows; bad: the same was called different.
type controlled struct {
	text string
	bad  bool
}

func controlTexts(d result.Document) (all []controlled) {
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
		all = append(all, controlled{text, bad})
	}
	return all
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
	who := fmt.Sprintf("The A/A control %s repeats %s. ", a, b)
	nothing := "It shows nothing" + strings.Join(silent, "; nothing")
	switch {
	case len(different) > 0:
		return fmt.Sprintf("Careful: the A/A control %s repeats %s, yet a difference was found %s. "+
			"Treat differences of this size in this run as noise.", a, b, strings.Join(different, "; ")), true
	case judged == 0:
		return who + nothing + ".", false
	case equivalent == judged:
		text = "It is as fast, so rpclab found no difference where there is none."
	default:
		text = fmt.Sprintf("No difference found; a difference of up to %s would have gone unseen.", atMost(unseen))
	}
	if len(silent) > 0 {
		text += " " + nothing + "."
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
