package result

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// FailedTrials are the trials of an arm that gave no measurement for one reason.
type FailedTrials struct {
	Rounds []int  // in order, at least one
	Reason string // of the first, with the log of a process that died
}

// FailedTrials returns the trials of an arm without a measurement. Reasons are the same if they differ in numbers, or in
// the log of a process, alone.
func (a Arm) FailedTrials() (all []FailedTrials) {
	same := func(one, other string) bool { return withoutFigures(one) == withoutFigures(other) }
	for _, t := range a.Trials {
		if t.Failed == "" {
			continue
		}
		i := slices.IndexFunc(all, func(f FailedTrials) bool { return same(f.Reason, t.Failed) })
		if i < 0 {
			all = append(all, FailedTrials{Reason: t.Failed})
			i = len(all) - 1
		}
		all[i].Rounds = append(all[i].Rounds, t.Round)
	}
	for i := range all { // an arm that is up in several groups of arms has a trial in each
		slices.Sort(all[i].Rounds)
		all[i].Rounds = slices.Compact(all[i].Rounds)
	}
	return all
}

// RoundsOf returns the number of rounds of trials, which may be of several groups of arms.
func RoundsOf(trials []Trial) int {
	rounds := map[int]bool{}
	for _, t := range trials {
		rounds[t.Round] = true
	}
	return len(rounds)
}

// withoutFigures leaves out the digits and points of a reason, and a log.
func withoutFigures(reason string) string {
	reason, _, _ = strings.Cut(reason, "; its last lines")
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || r == '.' {
			return -1
		}
		return r
	}, reason)
}

// Where names the rounds as [RoundsInWords] does.
func (f FailedTrials) Where() string { return RoundsInWords(f.Rounds) }

// RoundsInWords names rounds that are in order: "round 1", "rounds 2 to 5", "rounds 1, 2 and 4", "12 rounds from 1 to 40".
func RoundsInWords(rounds []int) string {
	if len(rounds) == 1 {
		return fmt.Sprintf("round %d", rounds[0])
	}
	first, last := rounds[0], rounds[len(rounds)-1]
	switch {
	case len(rounds) > 2 && last-first == len(rounds)-1:
		return fmt.Sprintf("rounds %d to %d", first, last)
	case len(rounds) > 6:
		return fmt.Sprintf("%d rounds from %d to %d", len(rounds), first, last)
	}
	var names []string
	for _, round := range rounds {
		names = append(names, strconv.Itoa(round))
	}
	return "rounds " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
