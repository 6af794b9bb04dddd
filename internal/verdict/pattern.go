package verdict

import "slices"

// Pattern is how calls fell on backends, for a report's sentence on why.
type Pattern string

const (
	OneTakesAll Pattern = "one-takes-all" // in every trial one backend got every call
	Uneven      Pattern = "uneven"        // less even than chance
	AsChance    Pattern = "as-chance"     // as random routing of each call would
	TakesTurns  Pattern = "takes-turns"   // evener than chance
	TooFewCalls Pattern = "too-few-calls" // to tell these apart, or nothing to balance
)

const (
	// unlikely is the p-value under which random routing is ruled out: small, since
	// a report holds dozens of these sentences.
	unlikely = 0.001
	// suspicious is a lower tail that is even enough for turns, unless proven.
	suspicious = 0.05
)

// PatternOf names the pattern of the trials of an arm, by PRandom under 0.001 and
// the side it is on.
//
// Of what is left, it says [TooFewCalls] rather than [AsChance] if one backend
// taking all would not have been noticed; or if turns would not, and the calls are
// as even as turns make them or in the evenest 5 % that chance gives. (Taking turns
// with 3 backends shows in 1 trial of 5,000 calls, or in 3 trials of 100.)
func PatternOf(trials [][]uint64) Pattern {
	seen := chanceOf(trials)
	switch {
	case seen.p() < unlikely && everyTrial(trials, oneTookAll):
		return OneTakesAll
	case seen.p() < unlikely && seen.atLeast < seen.atMost:
		return Uneven
	case seen.p() < unlikely:
		return TakesTurns
	}
	one, turns := chanceOf(each(trials, onOne)), chanceOf(each(trials, inTurns))
	blind := one.p() >= unlikely
	unsure := turns.p() >= unlikely && seen.atMost <= max(suspicious, turns.atMost)
	if blind || unsure {
		return TooFewCalls
	}
	return AsChance
}

func oneTookAll(counts []uint64) bool { return len(counts) > 0 && slices.Max(counts) == sum(counts) }

func everyTrial(trials [][]uint64, is func([]uint64) bool) bool {
	return !slices.ContainsFunc(trials, func(counts []uint64) bool { return !is(counts) })
}

// each gives the trials with their calls dealt anew.
func each(trials [][]uint64, deal func(calls uint64, counts []uint64)) [][]uint64 {
	dealt := make([][]uint64, len(trials))
	for i, counts := range trials {
		dealt[i] = make([]uint64, len(counts))
		if len(counts) > 0 {
			deal(sum(counts), dealt[i])
		}
	}
	return dealt
}

func onOne(calls uint64, counts []uint64) { counts[0] = calls }

func inTurns(calls uint64, counts []uint64) {
	k := uint64(len(counts))
	for i := range counts {
		counts[i] = calls / k
		if uint64(i) < calls%k {
			counts[i]++
		}
	}
}
