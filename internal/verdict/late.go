package verdict

import "fmt"

const (
	// A load generator sleeps until a call is due and may then wait for a CPU: on an idle machine
	// less than 0.2 ms at the 99th percentile. Less than half a millisecond is normal.
	latenessFloor = 0.5 // ms
	// Below a tenth of the latency, the load generator did not cause the latency.
	latenessShare = 0.1
)

// Late says how late rpclab sent calls, or returns "" if the lateness did not determine the latency. Both
// are in ms, of the same calls and at the same percentile, such as p99. Do not use it for bursts, or for
// users without think time: there the time to send calls is a cost of the caller, which the comparison
// includes.
func Late(percentile string, lateness, latency float64) string {
	if lateness <= max(latenessFloor, latenessShare*latency) {
		return ""
	}
	return fmt.Sprintf("rpclab sent calls up to %.1f ms late (%s), at a latency of %.1f ms", lateness, percentile, latency)
}

// Waited says which share of the calls waited in the client, as a reason for their lateness. It returns "" for 1 % or less, which 99th percentiles ignore.
func Waited(waited, calls uint64) string {
	if waited*100 <= calls {
		return ""
	}
	return fmt.Sprintf("; %.3g %% of the calls waited in the client for a free stream, connection or processor", 100*float64(waited)/float64(calls))
}
