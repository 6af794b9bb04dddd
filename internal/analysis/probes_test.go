package analysis

import (
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/condition"
)

// The machine may stop the load generator for as long as a probe takes. Such a probe says nothing about the service.
func TestAProbeWithoutCallsIsLimited(t *testing.T) {
	slo, err := condition.Parse("p99 < 10s")
	if err != nil {
		t.Fatal(err)
	}
	if limited := ProbeLimit(result.Trial{}, slo, time.Second); limited != "the load generator sent no call" {
		t.Errorf("a probe without calls is limited by %q", limited)
	}
}
