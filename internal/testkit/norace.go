//go:build !race

package testkit

// ReducedUnderRace returns n, and a tenth of it with the race detector.
func ReducedUnderRace(n int) int { return n }
