package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
)

// fewestOnEachSide is how many values a change needs on each side.
const fewestOnEachSide = 4

// permutations bound the p-value from below: 1 / (permutations + 1).
const permutations = 1999

// ChangePoints returns the places in a series at which the level of its values changes, ascending: a change at i is
// between values i-1 and i. The probability of any change in a series without one is at most the level.
//
// It divides the series where the sum of ranks differs most from that of random order (the standardized statistic of
// Mann and Whitney), tests that maximum by random permutations of the values, and continues in both parts.
//
// A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", J. R. Stat. Soc. C 28(2), 1979; the maximum
// of the standardized statistic: B. S. Darkhovskii, Theory Probab. Appl. 21(1), 1976.
func ChangePoints(values []float64, level float64) []int {
	source := rand.New(rand.NewPCG(uint64(len(values)), 1)) // the same series has the same answer
	var all []int
	var divide func(from, to int)
	divide = func(from, to int) {
		at, seen := largestChange(ranks(values[from:to]))
		if at == 0 || seen == 0 || !exceedsChance(ranks(values[from:to]), seen, level, source) {
			return
		}
		divide(from, from+at)
		all = append(all, from+at)
		divide(from+at, to)
	}
	divide(0, len(values))
	for i := range all { // a part with two changes was divided near one of them: now each has a part of its own
		from, to := 0, len(values)
		if i > 0 {
			from = all[i-1]
		}
		if i+1 < len(all) {
			to = all[i+1]
		}
		at, _ := largestChange(ranks(values[from:to]))
		all[i] = from + at
	}
	return all
}

// ranks returns the place of each value in sorted order, less the mean place. Equal values share their mean place.
func ranks(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	all := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		all[i] = float64(first+last-1)/2 - float64(len(values)-1)/2
	}
	return all
}

// largestChange returns where the ranks before and after differ most, and by how much.
func largestChange(ranks []float64) (at int, most float64) {
	n, sum := len(ranks), 0.0
	for i := range n - fewestOnEachSide {
		sum += ranks[i]
		if before := i + 1; before >= fewestOnEachSide {
			if size := math.Abs(sum) / math.Sqrt(float64(before)*float64(n-before)); size > most {
				at, most = before, size
			}
		}
	}
	return at, most
}

// exceedsChance reports whether at most a share of all orders of the ranks, the level, have a change as large. It shuffles
// them, and stops when the answer is certain.
func exceedsChance(ranks []float64, seen, level float64, source *rand.Rand) bool {
	allowed := int(level*(permutations+1)) - 1
	for range permutations {
		if allowed < 0 {
			return false
		}
		source.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		if _, most := largestChange(ranks); most >= seen*(1-1e-9) {
			allowed--
		}
	}
	return allowed >= 0
}
