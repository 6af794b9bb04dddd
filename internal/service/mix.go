package service

import (
	"slices"

	"rpclab/internal/service/data"
)

// Mix chooses which of the calls of a service each call of a load is, by their weights. The choice depends on
// the number of the call alone, so all arms make the same calls in the same order.
type Mix struct {
	upTo  []uint64 // by call: the sum of the weights up to and with it
	every uint64   // the sum of all weights: so many calls in turn have exactly these shares
	step  uint64   // between the places of two calls in turn; it has no common divisor with every
	loads *loads
}

// loads are those of a session.
type loads struct {
	data.Numbers
	continues bool // the last one is one that another can continue
}

// NewMix returns the mix of calls. A single call has any weight.
func NewMix(calls []Spec) Mix {
	m := Mix{loads: &loads{}}
	divisor := uint64(0)
	for _, c := range calls {
		divisor = commonDivisor(max(c.Weight, 1), divisor)
	}
	for _, c := range calls {
		m.every += max(c.Weight, 1) / divisor
		m.upTo = append(m.upTo, m.every)
	}
	for m.step = m.every*golden/1000 + 1; commonDivisor(m.step, m.every) > 1; m.step++ {
	}
	return m
}

// golden is the golden ratio in thousandths: steps of this share of a range cover it evenly.
const golden = 618

// StartLoad begins a load. One that continues the loads before it makes the calls that follow theirs: if each block of a
// load began anew, a call with a small share would be in none of them, or in all. A mix that begins anew numbers the
// calls of each kind from 0 again.
func (m Mix) StartLoad(continues bool) (anew bool) {
	if anew = !continues || !m.loads.continues; anew {
		m.loads.Restart()
	} else {
		m.loads.Next()
	}
	m.loads.continues = continues
	return anew
}

// Of returns which call the call n of a load is, and its number among the calls of its kind, in their order and both from 0. Of
// every calls in turn, each kind has its share, in an order that a hash of n varies.
func (m Mix) Of(n uint64) (call int, number uint64) {
	if len(m.upTo) == 1 {
		return 0, n
	}
	n = m.loads.Of(n)
	group, before := n/m.every, n%m.every
	start := scrambled(group) % m.every
	place := (before*m.step + start) % m.every
	call, exact := slices.BinarySearch(m.upTo, place)
	if exact {
		call++
	}
	first := uint64(0)
	if call > 0 {
		first = m.upTo[call-1]
	}
	// Of the calls before in this group, those of its kind have places from first to upTo: x mod every is at least c if
	// the quotient of x + every - c is one more than that of x.
	number = sumOfQuotients(before, m.step, start+m.every-first, m.every) - sumOfQuotients(before, m.step, start+m.every-m.upTo[call], m.every)
	return call, group*(m.upTo[call]-first) + number
}

// sumOfQuotients is the sum of (step*i + start) / by, rounded down, for i from 0 to n-1. It takes as many steps as
// Euclid's algorithm for step and by.
func sumOfQuotients(n, step, start, by uint64) (sum uint64) {
	if n == 0 {
		return 0
	}
	sum = n*(n-1)/2*(step/by) + n*(start/by)
	step, start = step%by, start%by
	end := step*n + start
	return sum + sumOfQuotients(end/by, by, end%by, step) // the points below a line, counted along the other axis
}

// scrambled is a hash of a number below 2^32 (the finalizer of SplitMix64).
func scrambled(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return (n ^ n>>31) >> 32
}

func commonDivisor(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
