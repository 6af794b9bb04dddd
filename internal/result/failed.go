package result

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/result/failure"
)

// FailedTrials are the trials of an arm that gave no measurement for one reason.
type FailedTrials struct {
	Rounds []int  // in order, at least one
	Reason string // of the first, with the log of a process that died
	Varies bool   // the reasons of others differ from it in figures, or in the words for a limit
}

// FailedTrials returns the trials of an arm without a measurement by reason, see [failure.Same].
func (a Arm) FailedTrials() (all []FailedTrials) {
	for _, t := range a.Trials {
		if t.Failed == "" {
			continue
		}
		i := slices.IndexFunc(all, func(f FailedTrials) bool { return failure.Same(f.Reason, t.Failed) })
		if i < 0 {
			all = append(all, FailedTrials{Reason: t.Failed})
			i = len(all) - 1
		}
		all[i].Varies = all[i].Varies || failure.WithoutLog(t.Failed) != failure.WithoutLog(all[i].Reason)
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

// Where names the rounds as [RoundsInWords] does.
func (f FailedTrials) Where() string { return RoundsInWords(f.Rounds) }

// Before is what text has before the reason: ": ", or ", first: " if those of others differ.
func (f FailedTrials) Before() string {
	if f.Varies {
		return ", first: "
	}
	return ": "
}

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

// ReasonsOf returns the reasons of the failed calls with a code, the most frequent first. Without counted, the numbers of
// calls are not known: they are the first messages of each trial, in order.
func (a Arm) ReasonsOf(code string) (reasons []failure.Reason, counted bool) {
	var calls uint64
	for _, r := range a.Reasons[code] {
		calls += r.Calls
	}
	if reasons = slices.Clone(a.Reasons[code]); calls > 0 && calls == a.Errors[code] || len(reasons) == failure.Most {
		slices.SortStableFunc(reasons, func(a, b failure.Reason) int { return cmp.Compare(b.Calls, a.Calls) })
		return reasons, true
	}
	reasons = failure.Add(nil, a.Samples[code], 0)
	for _, t := range a.Trials {
		reasons = failure.Add(reasons, t.Samples[code], 0)
	}
	return reasons, false
}
