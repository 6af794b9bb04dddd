package verdict

import "slices"

// Pattern names how calls were distributed over backends.
type Pattern string

const (
	OneTakesAll Pattern = "one-takes-all" // in every trial one backend received every call
	Uneven      Pattern = "uneven"        // less even than random assignment
	AsChance    Pattern = "as-chance"     // like random assignment of each call
	TakesTurns  Pattern = "takes-turns"   // more even than random assignment
	TooFewCalls Pattern = "too-few-calls" // too few calls to tell, or nothing to balance
)

const (
	// unlikely is the p-value below which random assignment is ruled out. It is small, because a
	// report contains dozens of patterns.
	unlikely = 0.001
	// suspicious is a probability of the lower tail at which calls may be round robin.
	suspicious = 0.05
)

// PatternOf names the pattern of the trials of an arm. PRandom below 0.001 gives Uneven or TakesTurns.
//
// Otherwise it returns [TooFewCalls] and not [AsChance] if one backend with all calls would not have been
// detected. It does the same if round robin would not, and the calls are as even as round robin or in the
// most even 5 % of random assignment. (Round robin over 3 backends is detected in 1 trial of 5,000 calls, or
// in 3 trials of 100.)
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
	one, turns := chanceOf(reassign(trials, onOne)), chanceOf(reassign(trials, inTurns))
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

// reassign returns the trials with their calls assigned by another rule.
func reassign(trials [][]uint64, deal func(calls uint64, counts []uint64)) [][]uint64 {
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
