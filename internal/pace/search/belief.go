package search

import "math"

// What a belief assumes about probes. docs/decisions/0034-search.md says why.
var (
	// noises are the possible deviations of the limit from one full-length probe to another. Short
	// probes have twice the noise, since they make a quarter of the calls.
	noises = []float64{0.005, 0.01, 0.02, 0.04, 0.07}
	// overlooked is by how much the limit of short probes may exceed the capacity, since a queue has
	// less time to grow.
	overlooked = []struct{ by, chance float64 }{{0, 0.7}, {0.1, 0.3}}
)

const (
	// spoiled is the chance that a probe fails for a reason other than its rate, such as a stall.
	spoiled = 0.05
	// lucky is the chance that a probe holds although its rate is too high.
	lucky = 0.005
	// largestStep is the largest distance between neighbouring rates of the grid, as a logarithm.
	largestStep = 0.02
)

// belief says how probable each capacity is after some probes (Bayes' rule). It has a grid of
// rates, from half the lowest to twice the highest of a search.
type belief struct {
	first, step float64 // logarithm of the lowest rate of the grid, and the distance between two neighbours
	// The likelihood of the outcomes of short and of full-length probes, by noise and by rate.
	short, full [][]float64
}

func newBelief(p Plan, start float64) *belief {
	b := &belief{step: min(largestStep, math.Log1p(p.Precision)/2)}
	below := math.Ceil(math.Log(2*start/p.From) / b.step)
	above := math.Ceil(math.Log(2*p.To/start) / b.step)
	b.first = math.Log(start) - (below+0.5)*b.step
	for range noises {
		b.short = append(b.short, ones(int(below+above)+1))
		b.full = append(b.full, ones(int(below+above)+1))
	}
	return b
}

func ones(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// record adds the outcome of a probe.
func (b *belief) record(p Probe, held bool) {
	rate := math.Log(p.Rate)
	for i, noise := range noises {
		likelihood := b.full[i]
		if !p.Full {
			likelihood, noise = b.short[i], 2*noise
		}
		scale := noise * math.Sqrt(3) / math.Pi // a logistic distribution with this deviation
		for j := range likelihood {
			above := (b.first + float64(j)*b.step - rate) / scale
			holds := lucky + (1-spoiled-lucky)*logistic(above)
			if !held {
				holds = 1 - holds
			}
			likelihood[j] *= holds
		}
	}
}

// logistic is 0 or 1 where it differs from them by less than 1e-6, which saves most of the time.
func logistic(x float64) float64 {
	switch {
	case x < -14:
		return 0
	case x > 14:
		return 1
	}
	return 1 / (1 + math.Exp(-x))
}

// ofShort returns the probability of each rate of the grid to be the limit of short probes.
func (b *belief) ofShort() distribution {
	p := make([]float64, len(b.short[0]))
	for i := range noises {
		for j, likelihood := range b.short[i] {
			p[j] += likelihood
		}
	}
	return b.distribution(p)
}

// ofFull returns the probability of each rate of the grid to be the capacity.
func (b *belief) ofFull() distribution {
	p := make([]float64, len(b.full[0]))
	for _, o := range overlooked {
		shift := int(math.Round(o.by / b.step))
		for i := range noises {
			for j, likelihood := range b.full[i] {
				p[j] += o.chance * likelihood * b.short[i][min(j+shift, len(p)-1)]
			}
		}
	}
	return b.distribution(p)
}

// distribution is the probability of each rate of a grid.
type distribution struct {
	first, step float64
	share       []float64 // of all probability
}

func (b *belief) distribution(weights []float64) distribution {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for j := range weights {
		weights[j] /= sum
	}
	return distribution{b.first, b.step, weights}
}

// quantile returns the rate that the value does not exceed with probability q.
func (d distribution) quantile(q float64) float64 {
	sum := 0.0
	for j, share := range d.share {
		if sum+share >= q {
			return math.Exp(d.first + d.step*(float64(j)-0.5+(q-sum)/share))
		}
		sum += share
	}
	return math.Exp(d.first + d.step*float64(len(d.share)))
}

func (d distribution) median() float64 { return d.quantile(0.5) }

// narrow reports whether the ratio of the ends of the middle interval with a probability is at most
// this number of steps of the precision.
func (d distribution) narrow(probability, steps, precision float64) bool {
	ratio := d.quantile((1+probability)/2) / d.quantile((1-probability)/2)
	return ratio <= math.Pow(1+precision, steps)*(1+1e-9)
}
