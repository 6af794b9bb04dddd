package verdict_test

import (
	"testing"

	"rpclab/internal/verdict"
)

func TestCallsAreLateFromATenthOfTheirLatency(t *testing.T) {
	for _, c := range []struct {
		lateness, latency float64
		late              string
	}{
		{5, 20, "rpclab sent calls up to 5.0 ms late (p99), at a latency of 20.0 ms"},
		{0.6, 1, "rpclab sent calls up to 0.6 ms late (p99), at a latency of 1.0 ms"},
		{0.5, 1, ""}, // under half a millisecond is on time
		{5, 100, ""}, // 5 % of the latency is not late
		{11, 100, "rpclab sent calls up to 11.0 ms late (p99), at a latency of 100.0 ms"},
		{0, 0, ""},
	} {
		if got := verdict.Late("p99", c.lateness, c.latency); got != c.late {
			t.Errorf("Late(%g, %g) = %q, want %q", c.lateness, c.latency, got, c.late)
		}
	}
}
