package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestAChannelPerCallExceedsLimitsAndASharedChannelDoesNot runs 3,000 calls at once.
func TestAChannelPerCallExceedsLimitsAndASharedChannelDoesNot(t *testing.T) {
	t.Parallel()
	quickly(t, "limits")
	// On a busy machine the client is slower, so that fewer channels are open at once, unless responses take longer.
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		d, _ := quick(t, "limits")
		if try > 1 {
			d, _ = document(t, "limits", "--quick", "--set", fmt.Sprintf("workload.greet.delay=%ds", 4*try))
		}
		for _, name := range []string{"new-channel", "shared-with-limits"} {
			if a := arm(t, d, name); a.Calls == 0 || len(a.Errors) > 0 {
				wrong("%s: %d calls, errors %v (%v)", name, a.Calls, a.Errors, a.Samples)
			}
		}
		for name, reason := range map[string]string{"open-files": "too many open files", "ports": "cannot assign requested address"} {
			a := arm(t, d, name)
			if failed := a.Errors["UNAVAILABLE"]; failed == 0 || failed == a.Calls || !strings.Contains(a.Samples["UNAVAILABLE"], reason) {
				wrong("%s: %d of %d calls failed, %v; want some with UNAVAILABLE: %s", name, failed, a.Calls, a.Samples, reason)
			}
		}
		if why := why(arm(t, d, "memory")); !strings.Contains(why, "the caller died") || !strings.Contains(why, "memory") {
			wrong("memory: %s, want that the caller died for lack of memory", why)
		}
	})
}
