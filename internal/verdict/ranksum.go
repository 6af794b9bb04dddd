package verdict

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// RankSum is the two-sided p-value of the Mann-Whitney U test that the values of two
// arms come from the same distribution, which looks at their order only and not at
// the rounds. It is 1 when an arm has no value. Up to 40 values it is exact, with ties
// too (every split of the values is as likely as every other); beyond, it is by the
// normal distribution.
//
// H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other", Ann. Math. Statist. 18(1), 1947.
func RankSum(a, b []float64) float64 {
	ranks, sum := doubledRanks(a, b)
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	if len(ranks) > exactRanks {
		return normalRankSum(ranks, sum, len(a))
	}
	// ways[k][s]: in how many ways k of the values have ranks that add up to s.
	ways := make([][]float64, len(a)+1)
	total := 0
	for _, r := range ranks {
		total += r
	}
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	reach := 0 // the sum of all ranks until now
	for i, r := range ranks {
		reach += r
		for k := min(i+1, len(a)); k > 0; k-- {
			for s := reach; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	var below, above, all float64
	for s, w := range ways[len(a)] {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return min(2*min(below, above)/all, 1)
}

const exactRanks = 40

// normalRankSum takes the sum of n of the doubled ranks for normal, half a rank off.
func normalRankSum(ranks []int, sum, n int) float64 {
	all := make([]float64, len(ranks))
	for i, r := range ranks {
		all[i] = float64(r)
	}
	count, drawn := float64(len(all)), float64(n)
	// Of a draw without putting back; the deviation of the ranks knows of the ties.
	spread := deviation(all) * math.Sqrt(drawn*(count-drawn)/count)
	off := math.Abs(float64(sum)-drawn*mean(all)) - 1
	if !(spread > 0) || off <= 0 {
		return 1
	}
	return 2 * distuv.UnitNormal.Survival(off/spread)
}

// doubledRanks are twice the ranks of all values, equal ones sharing the mean of
// theirs, so that they are whole numbers; sum is that of a's.
func doubledRanks(a, b []float64) (ranks []int, sum int) {
	type value struct {
		x   float64
		ofA bool
	}
	var all []value
	for _, x := range a {
		all = append(all, value{x, true})
	}
	for _, x := range b {
		all = append(all, value{x, false})
	}
	slices.SortFunc(all, func(v, w value) int { return cmp.Compare(v.x, w.x) })
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		for _, v := range all[i:j] {
			ranks = append(ranks, i+1+j) // (i+1 + j)/2, doubled
			if v.ofA {
				sum += i + 1 + j
			}
		}
		i = j
	}
	return ranks, sum
}
