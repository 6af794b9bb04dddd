package verdict

import "math"

// Looks returns the numbers of rounds after which a run until decided examines its verdicts: first, then twice
// as many each time, and last. Between three quarters of last and last there is no look.
func Looks(first, last int) []int {
	var looks []int
	for n := first; 4*n <= 3*last; n *= 2 {
		looks = append(looks, n)
	}
	return append(looks, last)
}

// ErrorShare returns the share of the error of a run that its verdicts may use after n rounds. Each look uses
// half of the share that earlier looks left. The verdicts at the end of the run, after its last look or its
// time limit, use the whole rest. So the shares of a run sum to 1 at most, whenever it ends.
func ErrorShare(looks []int, n int) float64 {
	used := 0
	for _, look := range looks {
		if look <= n {
			used++
		}
	}
	if used == len(looks) {
		used = max(used-1, 0) // the last look uses the whole rest
	}
	return math.Pow(0.5, float64(used))
}
