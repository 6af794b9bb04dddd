package verdict

import "fmt"

const (
	// A generator sleeps until a call is due and may then wait for its processor: on an
	// idle machine that is under 0.2 ms at the 99th percentile. Half a millisecond is
	// beyond it, and a lateness below does not tell services apart.
	latenessFloor = 0.5 // ms
	// Under a tenth of the latency, the generator did not make what it measured.
	latenessShare = 0.1
)

// Late says how far calls that were due at a time of their own left after it; "" when
// that did not make their latency. Both are the 99th percentiles, in ms. It is not for
// bursts, nor for users who ask again at once: of those, the time to get calls out is
// the caller's own cost, which is what is compared.
func Late(lateness, latency float64) string {
	if lateness <= max(latenessFloor, latenessShare*latency) {
		return ""
	}
	return fmt.Sprintf("rpclab sent calls up to %.1f ms late (p99), at a latency of %.1f ms", lateness, latency)
}
