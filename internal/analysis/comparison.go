package analysis

import (
	"cmp"
	"math"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// comparison is two arms of a cell that are compared.
type comparison struct {
	a, b result.Arm
	kind result.VerdictKind
}

func comparisons(d result.Document) []comparison {
	var all []comparison
	controlled, reference := map[string][]string{}, map[string]bool{}
	for _, c := range d.Confounds {
		controlled[c.Published] = append(controlled[c.Published], c.Controlled)
	}
	place := make(map[result.ArmKey]int, len(d.Arms))
	for i, a := range d.Arms {
		place[a.Key()] = i
		reference[a.Against] = true
	}
	for _, a := range d.Arms {
		var others []int
		for _, name := range append([]string{a.Control, a.Against, d.Baseline}, controlled[a.Name]...) {
			if i, known := place[result.ArmKey{Name: name, Cell: a.Key().Cell}]; known && name != a.Name {
				others = append(others, i)
			}
		}
		slices.Sort(others)
		for _, i := range slices.Compact(others) {
			b := d.Arms[i]
			switch {
			case a.Control == b.Name:
				all = append(all, comparison{a, b, "control"})
			case a.Control == "" && a.Against == b.Name && b.Name != d.Baseline:
				all = append(all, comparison{a, b, "against"})
			case a.Control == "" && cmp.Or(a.Against, d.Baseline) == b.Name && (a.Against != "" || !reference[a.Name]): // a reference is compared with no other arm
				all = append(all, comparison{a, b, "baseline"})
			case slices.Contains(controlled[a.Name], b.Name):
				all = append(all, comparison{a, b, "confound"})
			}
		}
	}
	return all
}

// paired returns the values of both arms in each round that has both. The value of a failed trial is NaN, so
// that the comparison reports it and does not leave it out.
func paired(a, b result.Arm, of func(result.Trial) float64) []verdict.Pair {
	as, bs := byRound(a, of), byRound(b, of)
	var pairs []verdict.Pair
	for _, t := range a.Trials {
		// A round that the run did not finish is not a pair.
		_, inA := as[turnOf(t)]
		if _, inB := bs[turnOf(t)]; inA && inB {
			pairs = append(pairs, verdict.Pair{A: as[turnOf(t)], B: bs[turnOf(t)]})
		}
	}
	return pairs
}

// alongside returns the values of a third arm in the rounds of a pair; NaN: it has no value.
func alongside(a, b, third result.Arm, of func(result.Trial) float64) (values []float64) {
	as, bs, thirds := byRound(a, of), byRound(b, of), byRound(third, of)
	for _, t := range a.Trials {
		_, inA := as[turnOf(t)]
		if _, inB := bs[turnOf(t)]; inA && inB {
			value, has := thirds[turnOf(t)]
			if !has {
				value = math.NaN()
			}
			values = append(values, value)
		}
	}
	return values
}

// turn is a round of a group of arms.
type turn struct{ round, group int }

func turnOf(t result.Trial) turn { return turn{t.Round, t.Group} }

// byRound returns the values of an arm by round and group, without a search that an interrupt ended; NaN: the trial
// failed.
func byRound(arm result.Arm, of func(result.Trial) float64) map[turn]float64 {
	values := map[turn]float64{}
	for _, t := range arm.Trials {
		switch {
		case wasInterrupted(t):
		case t.Failed == "":
			values[turnOf(t)] = of(t)
		default:
			values[turnOf(t)] = math.NaN()
		}
	}
	return values
}

// maxOthers is the largest number of other arms that show the noise of a pair. More arms add little, and the
// time for all pairs would grow with the square of the arms.
const maxOthers = 10

// inGroups returns the pair in groups of cycles, the controls that repeat its second arm, and other arms of its cell,
// which show the noise. Controls repeat the arm only if all of them are divided into the same cycles. If the pair has
// no groups, all arms are as they were, and cycles is 0.
func (p comparison) inGroups(d result.Document, m metric, inCell []result.Arm) (_ comparison, repeats, others []result.Arm, cycles int) {
	for _, arm := range inCell {
		if arm.Name == p.a.Name || arm.Name == p.b.Name {
			continue
		}
		if len(others) < maxOthers {
			others = append(others, arm)
		}
		if arm.Control == p.b.Name && p.kind != result.OfControl && p.withIt(arm) {
			repeats = append(repeats, arm)
		}
	}
	pair := []result.Arm{p.a, p.b}
	if len(repeats) > 0 {
		rest := slices.DeleteFunc(slices.Clone(others), func(arm result.Arm) bool { return arm.Control == p.b.Name })
		groups, rest, cycles := inGroups(m, append(pair, repeats...), rest, 1)
		unfit := func(arm result.Arm) bool { return m.bounded(arm) || unfitArm(m, d, arm).text != "" }
		if cycles > 0 && !slices.ContainsFunc(groups[2:], unfit) {
			p.a, p.b = groups[0], groups[1]
			return p, groups[2:], rest, cycles
		}
	}
	pair, others, cycles = inGroups(m, pair, others, 1)
	p.a, p.b = pair[0], pair[1]
	return p, nil, others, cycles
}

// withIt reports whether another arm has a trial in every round and group of arms in which the pair's first arm has.
func (p comparison) withIt(other result.Arm) bool {
	has := map[turn]bool{}
	for _, t := range other.Trials {
		has[turnOf(t)] = true
	}
	return !slices.ContainsFunc(p.a.Trials, func(t result.Trial) bool { return !has[turnOf(t)] })
}

// averaged returns pairs in which the second value is the geometric mean of the second arm's value and those of the
// controls that repeat it: they are the same arm, so together they show it with less noise. It also returns the
// names of these controls, without those that lack a value.
func averaged(pairs []verdict.Pair, p comparison, repeats []result.Arm, of func(result.Trial) float64) (_ []verdict.Pair, names []string) {
	sums := make([]float64, len(pairs)) // of logarithms
	for _, arm := range repeats {
		values := alongside(p.a, p.b, arm, of)
		if slices.ContainsFunc(values, func(x float64) bool { return !(x > 0) || math.IsInf(x, 1) }) {
			continue
		}
		names = append(names, arm.Name)
		for i, x := range values {
			sums[i] += math.Log(x)
		}
	}
	for i := range pairs {
		if len(names) > 0 && pairs[i].B > 0 {
			pairs[i].B = math.Exp((math.Log(pairs[i].B) + sums[i]) / float64(len(names)+1))
		}
	}
	return pairs, names
}
