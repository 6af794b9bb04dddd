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
	return all
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

// Where names the rounds: "round 1", "rounds 2 to 5", "rounds 1, 2 and 4".
func (f FailedTrials) Where() string {
	if len(f.Rounds) == 1 {
		return fmt.Sprintf("round %d", f.Rounds[0])
	}
	first, last := f.Rounds[0], f.Rounds[len(f.Rounds)-1]
	if len(f.Rounds) > 2 && last-first == len(f.Rounds)-1 {
		return fmt.Sprintf("rounds %d to %d", first, last)
	}
	var names []string
	for _, round := range f.Rounds {
		names = append(names, strconv.Itoa(round))
	}
	return "rounds " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
