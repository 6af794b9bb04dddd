package verdict

import "slices"

// Balance says how evenly calls were distributed over the ready backends.
type Balance struct {
	// Jain is Jain's fairness index (Σx)²/(k·Σx²) (Jain, Chiu and Hawe 1984,
	// DEC-TR-301): 1/k when one of k backends received all calls, 1 when all received equally many.
	Jain float64
	// MaxOverMean is the calls of the busiest backend divided by the mean, 1 to k.
	MaxOverMean float64
	// PRandom is the two-sided p-value of the hypothesis that each call independently went to
	// a uniformly random backend. It is small when calls are too uneven (one connection carries
	// all) or too even (round robin). A simulated value is at least 2/10,001; a computed value
	// may be 0.
	PRandom float64
}

// Assess returns the balance of one trial. counts includes a zero for every ready backend without
// calls. Without calls, or with fewer than two backends, all three values are 1.
func Assess(counts []uint64) Balance { return Pool([][]uint64{counts}) }

// Pool returns the balance of several trials, each with its own backends and connections. It does not
// sum the counts, because trials that each used one backend would then look even.
//
// Jain and MaxOverMean are means over the trials, weighted by their calls: unlike
// a median, a mean shows one uneven trial of five. PRandom uses the sum of the trials' chi-squares.
// Trials with nothing to balance count as 1 in the means, and not at all in PRandom.
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
