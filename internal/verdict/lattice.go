package verdict

import "math"

// maxSteps limits the enumeration of outcomes to about a millisecond.
const maxSteps = 10_000

// sample is the size of one trial.
type sample struct {
	calls    uint64
	backends int
}

func (s sample) expected() float64 { return float64(s.calls) / float64(s.backends) }

// lattice enumerates every outcome of random assignment whose chi-square is at most high. Backends are
// interchangeable, so one outcome with falling counts represents all its permutations.
type lattice struct {
	samples   []sample
	low, high float64 // a chi-square from low to high equals the observed one
	steps     int
	atMost    float64
	equal     float64
}

// trial starts trial i, or adds the probability of the outcome after the last trial. x is the chi-square
// so far, logP the logarithm of the probability so far.
func (l *lattice) trial(i int, x, logP float64) bool {
	if i == len(l.samples) {
		p := math.Exp(logP)
		l.atMost += p
		if x >= l.low {
			l.equal += p
		}
		return true
	}
	s := l.samples[i]
	n, k := float64(s.calls), float64(s.backends)
	logP += logFactorial(n) - n*math.Log(k) + logFactorial(k)
	return l.place(place{trial: i, backends: s.backends, calls: s.calls, ceiling: s.calls}, x, logP)
}

// place is a trial in which some backends have received their calls.
type place struct {
	trial    int
	backends int    // without calls so far
	calls    uint64 // not assigned so far
	ceiling  uint64 // calls of the previous backend; later ones have at most as many
	alike    int    // number of earlier backends with exactly ceiling calls
}

func (l *lattice) place(p place, x, logP float64) bool {
	if l.steps++; l.steps > maxSteps {
		return false
	}
	if p.backends == 0 {
		return l.trial(p.trial+1, x, logP)
	}
	fair := l.samples[p.trial].expected()
	rest := uint64(p.backends)
	for c := (p.calls + rest - 1) / rest; c <= min(p.ceiling, p.calls); c++ {
		own := x + square(float64(c)-fair)/fair
		if own+spread(p.calls-c, p.backends-1, fair) > l.high {
			break // larger c exceed high too
		}
		next := place{trial: p.trial, backends: p.backends - 1, calls: p.calls - c, ceiling: c, alike: 1}
		if c == p.ceiling {
			next.alike = p.alike + 1
		}
		if !l.place(next, own, logP-logFactorial(float64(c))-math.Log(float64(next.alike))) {
			return false
		}
	}
	return true
}

// spread is the smallest chi-square that calls on backends can add: that of equal shares.
func spread(calls uint64, backends int, fair float64) float64 {
	if backends == 0 {
		return 0
	}
	k := float64(backends)
	return k * square(float64(calls)/k-fair) / fair
}

func square(x float64) float64 { return x * x }

func logFactorial(n float64) float64 {
	v, _ := math.Lgamma(n + 1)
	return v
}
