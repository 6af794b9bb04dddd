package analysis

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// Calls wait in the client in runs as in loads.
func TestAWaitForAStreamIsAWarning(t *testing.T) {
	of := func(caller string) map[string]any { return map[string]any{"caller": map[string]any{"kind": caller}} }
	burst := of("grpc-go")
	burst["load"] = map[string]any{"burst": 1000}
	const limit = "the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)"
	for name, c := range map[string]struct {
		config map[string]any
		waited int    // of 1,000 calls in each of two trials
		want   string // empty: no warning
	}{
		"run, none":           {of("wire"), 0, ""},
		"run":                 {of("wire"), 3, "a: 6 of 2000 calls (0.3 %) waited in rpclab for a stream, because " + limit + ", or over HTTP/1.1 for a connection, which carries one call at a time: use more connections"},
		"run, grpc-go":        {of("grpc-go"), 20, "a: 40 of 2000 calls (2 %) waited over 1 ms in grpc-go: for a stream, if " + limit + ", or for a processor: use more connections"},
		"run, grpc-go, 1 %":   {of("grpc-go"), 10, ""},
		"run, grpc-go, burst": {burst, 900, ""},
		"load":                {map[string]any{"engine": "wire"}, 3, "waited in rpclab for a stream, because " + limit + ": use more --connections"},
		"load, --streams":     {map[string]any{"engine": "wire", "streams": 7}, 3, "because --streams limits the calls on a connection to 7: raise it or use more --connections"},
		"load, HTTP/1.1":      {map[string]any{"engine": "wire", "http": 1}, 3, "waited in rpclab for a connection, which carries one call at a time"},
		"load, grpc-go":       {map[string]any{"engine": "grpc-go"}, 20, "waited over 1 ms in grpc-go"},
		"load, grpc-go, 1 %":  {map[string]any{"engine": "grpc-go"}, 10, ""},
	} {
		got := waitsOf(t, c.config, 1000, c.waited)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: the warning is %q, want %q", name, got, c.want)
		}
	}
}

// A few calls of a small load may have waited for a processor.
func TestAFewWaitsOfGRPCGoAreNoWarning(t *testing.T) {
	config := map[string]any{"caller": map[string]any{"kind": "grpc-go"}}
	if got := waitsOf(t, config, 40, 4); got != "" {
		t.Errorf("8 of 80 calls waited: %q", got)
	}
	if got := waitsOf(t, config, 40, 5); !strings.HasPrefix(got, "a: 10 of 80 calls (12.5 %) waited") {
		t.Errorf("10 of 80 calls waited: %q", got)
	}
}

// waitsOf returns the warning of waits in a run of two trials, in each of which so many of all calls waited.
func waitsOf(t *testing.T, config map[string]any, all, waited int) string {
	t.Helper()
	arm := result.Arm{Name: "a", Config: config}
	for round := range 2 {
		calls := sent(all, 0, ms)
		for i := range waited {
			calls[i].Waited = true
		}
		arm.Trials = append(arm.Trials, openTrial(t, round+1, calls, 0))
	}
	for _, warning := range Assemble(result.Document{Arms: []result.Arm{arm}}).Warnings {
		if strings.Contains(warning, " waited ") {
			return warning
		}
	}
	return ""
}
