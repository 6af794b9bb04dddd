package e2e

import (
	"strconv"
	"testing"
)

// TestAMillionCallsInConstantMemory checks that the caller's memory does not grow with the calls.
func TestAMillionCallsInConstantMemory(t *testing.T) {
	d, _ := document(t, "channels", "--arms", "endpointslice", "--rounds", "1", "--no-store",
		"--set", "load={closed: {users: 50, calls: "+strconv.Itoa(many(1_000_000, 100_000))+"}}", "--set", "workload.greet.delay=0s")
	a := arm(t, d, "endpointslice")
	if a.Calls < 100_000 || len(a.Errors) > 0 {
		t.Errorf("%d calls, errors %v; want at least 100,000 and none", a.Calls, a.Errors)
	}
	if peak := a.Resources.Client.RSS; peak > 100<<20 {
		t.Errorf("the caller used %d MiB, want at most 100", peak>>20)
	}
}
