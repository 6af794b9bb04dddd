package report

import (
	"fmt"
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
		if v.Kind != "control" {
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

const enoughRounds = 4 // fewer leave every verdict undecided

func controlText(a, b string, all []result.Verdict) (text string, bad bool) {
	var different []string
	rounds := all[0].Rounds
	for _, v := range all {
		rounds = min(rounds, v.Rounds)
		if v.Decision == "better" || v.Decision == "worse" {
			different = append(different, fmt.Sprintf("%s%s (%s, %s–%s)",
				metricName(v.Metric), at(v.Cell), ratio(v.Ratio), ratio(v.CI[0]), ratio(v.CI[1])))
		}
	}
	switch {
	case len(different) > 0:
		return fmt.Sprintf("Careful: the control %s is %s once more, yet it was called different %s. "+
			"Take differences of this size in this run for noise.", a, b, strings.Join(different, "; ")), true
	case rounds < enoughRounds:
		return fmt.Sprintf("The control %s, which is %s once more, says nothing yet: it needs %d rounds and has %d.",
			a, b, enoughRounds, rounds), false
	}
	return fmt.Sprintf("The control %s, which is %s once more, was not told apart from it: "+
		"the lab sees no difference where there is none.", a, b), false
}
