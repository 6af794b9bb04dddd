package slicewatch

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	jitter       = 0.2
)

// Backoff is the pause after that many failures in a row (at least 1): 100 ms,
// doubled each time up to 10 s, then scaled by a random 0.8 to 1.2 so that clients
// that lost the same server do not come back together. The form is that of gRPC's
// connection back-off (grpc/doc/connection-backoff.md).
func Backoff(failures int) time.Duration {
	d := longestPause
	if doublings := failures - 1; doublings < 7 { // 100 ms · 2⁷ exceeds 10 s
		d = firstPause << max(0, doublings)
	}
	return time.Duration(float64(d) * (1 - jitter + 2*jitter*rand.Float64()))
}
