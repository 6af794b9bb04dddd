package lab

import (
	"fmt"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

const (
	// A generator that is late by under a millisecond, or by under a tenth of the
	// latency that it measures, did not make that latency.
	latenessFloorMS = 1.0
	latenessShare   = 0.1
)

// limited says how the generator itself bounded a trial's numbers; "" when it did
// not. Only calls that are due one by one can be late: of a burst, or of a user who
// waits for an answer, the time to get calls out is the caller's cost, which is what
// is compared.
func limited(load experiment.Load, t result.Trial) string {
	if load.Open == nil || t.Calls == 0 {
		return ""
	}
	if late := t.Lateness.P99; late > max(latenessFloorMS, latenessShare*t.Latency.P99) {
		return fmt.Sprintf("calls left up to %.1f ms late (p99), of a latency of %.1f ms", late, t.Latency.P99)
	}
	return ""
}
