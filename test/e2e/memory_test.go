package e2e

import "testing"

// TestAMillionCallsInConstantMemory: what a caller remembers must not grow with calls.
func TestAMillionCallsInConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Log("a short run makes a tenth of the calls")
	}
	calls := map[bool]string{true: "100000", false: "1000000"}[testing.Short()]
	d, _ := document(t, "channels", "--arms", "endpointslice", "--rounds", "1", "--no-store",
		"--set", "load={closed: {users: 50, calls: "+calls+"}}", "--set", "workload.greet.delay=0s")
	a := arm(t, d, "endpointslice")
	if a.Calls < 100_000 || len(a.Errors) > 0 {
		t.Errorf("%d calls, errors %v", a.Calls, a.Errors)
	}
	if peak := a.Resources.Client.RSS; peak > 100<<20 {
		t.Errorf("the caller took %d MiB", peak>>20)
	}
}
