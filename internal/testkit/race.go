//go:build race

package testkit

// ReducedUnderRace returns a tenth of n: with the race detector a call takes about ten times as long.
func ReducedUnderRace(n int) int { return n / 10 }
