package e2e

import (
	"strconv"
	"testing"
)

// TestAMillionCallsInConstantMemory: what a caller remembers must not grow with calls.
func TestAMillionCallsInConstantMemory(t *testing.T) {
	d, _ := document(t, "channels", "--arms", "endpointslice", "--rounds", "1", "--no-store",
		"--set", "load={closed: {users: 50, calls: "+strconv.Itoa(many(1_000_000, 100_000))+"}}", "--set", "workload.greet.delay=0s")
	a := arm(t, d, "endpointslice")
	if a.Calls < 100_000 || len(a.Errors) > 0 {
		t.Errorf("%d calls, errors %v", a.Calls, a.Errors)
	}
	if peak := a.Resources.Client.RSS; peak > 100<<20 {
		t.Errorf("the caller took %d MiB", peak>>20)
	}
}
