package result

import "strings"

// Lacks names the first event that does not count in a trial, and why: rpclab could not perform it, so it cannot have cost
// calls, or it stopped because a backend exited or did not start, so the calls show only what came before. Empty: none, or
// the trial gave no measurement.
func (t Trial) Lacks() (event, why string) {
	if t.Failed != "" {
		return "", ""
	}
	for _, e := range t.Events {
		switch {
		case e.Error != "":
			return e.What + " was not performed", e.Error
		case e.Unfinished != nil && len(t.Lost) > 0:
			why, _, _ = strings.Cut(t.Lost[0], "\n")
			return e.What + " was not complete", why
		}
	}
	return "", ""
}

// BalanceOver is the number of backends between which the balance of a trial is computed, with those that answered no call
// if they are known; 0: rpclab does not know which backends answered.
func (t Trial) BalanceOver() int {
	n := len(t.Backends)
	for _, calls := range t.Groups {
		n = max(n, len(calls))
	}
	return n
}
