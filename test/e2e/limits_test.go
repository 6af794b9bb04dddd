package e2e

import (
	"strings"
	"testing"
)

// TestAChannelPerCallExceedsLimitsAndASharedChannelDoesNot runs 3,000 calls at once.
func TestAChannelPerCallExceedsLimitsAndASharedChannelDoesNot(t *testing.T) {
	t.Parallel()
	quickly(t, "limits")
	d, _ := quick(t, "limits")
	for _, name := range []string{"new-channel", "shared-with-limits"} {
		if a := arm(t, d, name); a.Calls == 0 || len(a.Errors) > 0 {
			t.Errorf("%s: %d calls, errors %v (%v)", name, a.Calls, a.Errors, a.Samples)
		}
	}
	// How many calls fail depends on how many channels are open at once, and so on the speed of the client.
	for name, reason := range map[string]string{"open-files": "too many open files", "ports": "cannot assign requested address"} {
		a := arm(t, d, name)
		if failed := a.Errors["UNAVAILABLE"]; failed == 0 || failed == a.Calls || !strings.Contains(a.Samples["UNAVAILABLE"], reason) {
			t.Errorf("%s: %d of %d calls failed, %v; want some with UNAVAILABLE: %s", name, failed, a.Calls, a.Samples, reason)
		}
	}
	if why := why(arm(t, d, "memory")); !strings.Contains(why, "the caller died") || !strings.Contains(why, "memory") {
		t.Errorf("memory: %s, want that the caller died for lack of memory", why)
	}
}
