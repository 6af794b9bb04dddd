package testkit

// Many is n, and a tenth of it under the race detector; make test runs the packages that ask
// for it without one, too.
func Many(n int) int { return n / share }
