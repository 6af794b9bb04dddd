package verdict

import "slices"

// Balance says how evenly calls fell on the backends that were ready.
type Balance struct {
	// Jain is Jain's fairness index (Σx)²/(k·Σx²) (Jain, Chiu and Hawe 1984,
	// DEC-TR-301): 1/k when one of k backends got all, 1 when all got the same.
	Jain float64
	// MaxOverMean is the busiest backend's share over a fair share, 1 to k.
	MaxOverMean float64
	// PRandom is the two-sided p-value of "each call went to a uniformly random
	// backend, whatever the others did". Small is either too uneven (one connection
	// carries all) or too even (backends take turns). Where it is drawn by lot it is
	// not under 2/10,001; where it is computed it may be as small as 0.
	PRandom float64
}

// Assess gives the balance of one trial's counts, which include a zero for every
// ready backend without a call. Without a call, or with fewer than two backends,
// there is nothing to balance: all three are 1.
func Assess(counts []uint64) Balance { return Pool([][]uint64{counts}) }

// Pool gives the balance of several trials, each with its own backends and its
// own draws: never that of summed counts, in which trials that each used one
// backend look even.
//
// Jain and MaxOverMean are means over the trials, weighted by their calls: unlike
// a median, the mean still shows the one trial of five that went wrong. PRandom
// takes the sum of the trials' chi-squares. Trials with nothing to balance count
// as 1 in the means, and not at all in PRandom.
func Pool(trials [][]uint64) Balance {
	var b Balance
	var calls float64
	for _, counts := range trials {
		n := float64(sum(counts))
		b.Jain += n * jain(counts)
		b.MaxOverMean += n * maxOverMean(counts)
		calls += n
	}
	if calls == 0 {
		return Balance{Jain: 1, MaxOverMean: 1, PRandom: 1}
	}
	b.Jain /= calls
	b.MaxOverMean /= calls
	b.PRandom = chanceOf(trials).p()
	return b
}

func jain(counts []uint64) float64 {
	var squares float64
	for _, c := range counts {
		squares += float64(c) * float64(c)
	}
	if squares == 0 {
		return 1
	}
	total := float64(sum(counts))
	return total * total / (float64(len(counts)) * squares)
}

func maxOverMean(counts []uint64) float64 {
	total := sum(counts)
	if total == 0 {
		return 1
	}
	return float64(slices.Max(counts)) * float64(len(counts)) / float64(total)
}

func sum(counts []uint64) uint64 {
	var total uint64
	for _, c := range counts {
		total += c
	}
	return total
}
