package e2e

import (
	"maps"
	"slices"
	"testing"
)

// TestOnlyIncompatibleVersionsLoseCallsOfOldClients checks by which code calls fail after a rollout.
func TestOnlyIncompatibleVersionsLoseCallsOfOldClients(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		d, s := quickTry(t, "contracts", try)
		s.promptly(t)
		for name, code := range map[string]string{
			"same": "", "side-by-side": "", "rest-same": "", "rest-side-by-side": "",
			"removed": "UNIMPLEMENTED", "rest-removed": "UNIMPLEMENTED",
			"renumbered":   "DATA_LOSS", // the server says OK
			"rest-renamed": "INVALID_ARGUMENT",
		} {
			a := arm(t, d, name)
			codes := slices.Collect(maps.Keys(a.Errors))
			if failed := a.Errors[code]; code == "" && len(codes) > 0 || code != "" && (len(codes) != 1 || failed == 0 || failed == a.Calls) {
				wrong("%s: of %d calls failed %v (%v), want some with %q alone", name, a.Calls, a.Errors, a.Samples, code)
			}
		}
	})
}
