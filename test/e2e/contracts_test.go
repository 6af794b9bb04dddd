package e2e

import "testing"

// TestOnlyIncompatibleVersionsLoseCallsOfOldClients checks by which code calls fail after a rollout.
func TestOnlyIncompatibleVersionsLoseCallsOfOldClients(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		d, s := quickTry(t, "contracts", try)
		s.promptly(wrong)
		for name, code := range map[string]string{
			"same": "", "side-by-side": "", "rest-same": "", "rest-side-by-side": "",
			"removed": "UNIMPLEMENTED", "rest-removed": "UNIMPLEMENTED",
			"renumbered":   "DATA_LOSS", // the server says OK
			"rest-renamed": "INVALID_ARGUMENT",
		} {
			a := arm(t, d, name)
			failed, closed := a.Errors[code], uint64(0)
			if name == "rest-renamed" || name == "rest-removed" { // the old server may close a connection that has just received a request
				closed = a.Errors["UNAVAILABLE"]
			}
			if code == "" && a.Failed() > 0 || code != "" && (failed == 0 || failed == a.Calls || a.Failed() > failed+closed || closed > a.Calls/20) {
				wrong("%s: of %d calls failed %v (%v), want some with %q alone", name, a.Calls, a.Errors, a.Samples, code)
			}
		}
	})
}
