package lab

import (
	"fmt"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

const (
	// A generator that is late by under half a millisecond, or by under a tenth of the
	// latency that it measures, did not make that latency.
	latenessFloorMS = 0.5
	latenessShare   = 0.1
)

// limited says how the generator itself bounded a trial's numbers; "" when it did
// not. Only calls that are due at a time of their own can be late: of a burst, or of
// a user who asks again at once, the time to get calls out is the caller's cost,
// which is what is compared.
func limited(load experiment.Load, t result.Trial) string {
	timed := load.Open != nil || load.Closed != nil && load.Closed.Think > 0
	if !timed || t.Calls == 0 {
		return ""
	}
	if late := t.Lateness.P99; late > max(latenessFloorMS, latenessShare*t.Latency.P99) {
		return fmt.Sprintf("calls left up to %.1f ms late (p99), of a latency of %.1f ms", late, t.Latency.P99)
	}
	return ""
}
