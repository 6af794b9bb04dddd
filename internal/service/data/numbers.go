package data

import "sync/atomic"

// Numbers number the calls of several loads, each of which counts its calls from 0. The zero value is that of the first.
type Numbers struct{ base, made atomic.Uint64 }

// Of returns the number of call n of this load.
func (n *Numbers) Of(call uint64) uint64 {
	number := n.base.Load() + call
	for made := n.made.Load(); number >= made && !n.made.CompareAndSwap(made, number+1); made = n.made.Load() {
	}
	return number
}

// Next begins a load whose calls have the numbers that follow.
func (n *Numbers) Next() { n.base.Store(n.made.Load()) }

// Restart begins a load whose calls have the numbers from 0 on.
func (n *Numbers) Restart() {
	n.base.Store(0)
	n.made.Store(0)
}
