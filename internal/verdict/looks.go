package verdict

import "math"

// Looks returns the numbers of rounds after which a run until decided examines its verdicts: first, then
// twice as many each time, and last. A look that is close to last is left out.
func Looks(first, last int) []int {
	var looks []int
	for n := first; 4*n <= 3*last; n *= 2 {
		looks = append(looks, n)
	}
	return append(looks, last)
}

// ErrorShare returns the share of the error of a run that its verdicts may use after n rounds. Each look
// has half of what the looks before it left. The last verdicts of the run, at the last look or when its
// time is over, have all that is left. So the shares of a run sum to 1 at most, whenever it ends.
func ErrorShare(looks []int, n int) float64 {
	used := 0
	for _, look := range looks {
		if look <= n {
			used++
		}
	}
	if used == len(looks) {
		used = max(used-1, 0) // nothing follows the last look
	}
	return math.Pow(0.5, float64(used))
}
