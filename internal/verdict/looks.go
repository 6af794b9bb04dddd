package verdict

// Looks are the numbers of rounds after which a run that goes on until it is decided
// may look at its verdicts: the first with enough for one, then half as many again
// each time, and the last. So they are few, and each can have its share of the error.
func Looks(first, last int) []int {
	var looks []int
	for n := max(first, MinRounds); n < last; n += (n + 1) / 2 {
		looks = append(looks, n)
	}
	return append(looks, last)
}
