package report

import (
	"fmt"

	"rpclab/internal/result"
)

// callers says by how many processes loads were shared, where it were several, and how
// well they began together.
func callers(p *page, d result.Document) {
	fewest, most, skew := 0, 0, 0.0
	for _, arm := range d.Arms {
		n := callerCount(arm)
		if fewest == 0 || n < fewest {
			fewest = n
		}
		most = max(most, n)
		for _, t := range arm.Trials {
			skew = max(skew, result.Skew(t.Callers))
		}
	}
	if most <= 1 {
		return
	}
	many := plural(most, "caller")
	if fewest < most {
		many = fmt.Sprintf("%d to %s", fewest, many)
	}
	p.say(fmt.Sprintf("%s share each load; they began within %s ms of each other.", many, ms(skew)))
}

// callerCount is how many processes shared each load of an arm, at least 1.
func callerCount(a result.Arm) int {
	n := 1
	for _, t := range a.Trials {
		n = max(n, len(t.Callers))
	}
	return n
}
