package lab

import (
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// limited says how the generator itself bounded a trial's numbers; "" when it did
// not. Only calls that are due at a time of their own can be late.
func limited(load experiment.Load, t result.Trial) string {
	timed := load.Open != nil || load.Search != nil || load.Closed != nil && load.Closed.Think > 0
	if !timed || t.Calls == 0 {
		return ""
	}
	return verdict.Late(t.Lateness.P99, t.Latency.P99)
}
