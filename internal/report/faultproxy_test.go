package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestTheCostOfAFaultProxyIsSaid(t *testing.T) {
	for want, cost := range map[string]result.FaultProxy{
		"The fault proxy before each backend of shop adds 85 µs (p50) and 31 µs of CPU time to a call, in all arms (measured with one call at a time).":        {Service: "shop", Calls: 100, DirectMS: new(2.0), ProxyMS: new(2.085), CPU: new(31.2)},
		"The fault proxy before each backend of shop adds no measurable time and 31 µs of CPU time to a call, in all arms (measured with one call at a time).": {Service: "shop", Calls: 100, DirectMS: new(2.0), ProxyMS: new(1.9), CPU: new(31.2)},
		"It is not known what the fault proxy before each backend of shop adds to a call: a call failed with INTERNAL: broken.":                                {Service: "shop", Unknown: "a call failed with INTERNAL: broken"},
	} {
		if got := faultProxyInWords(cost); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// A service does not report the delay of the proxy before it.
func TestWeightsOfAServiceDoNotAvoidAFaultProxy(t *testing.T) {
	arm := result.Arm{Policy: "weighted_round_robin", Config: map[string]any{"service": "shop"}}
	if got := policyBehavior(arm); !strings.Contains(got, "does not know of faults") || strings.Contains(got, "a tenth") {
		t.Errorf("it says %q, want that the reports of the service lack the fault", got)
	}
	arm.Config = nil
	if got := policyBehavior(arm); !strings.Contains(got, "a tenth") {
		t.Errorf("of rpclab's own servers it says %q, want their weights", got)
	}
}
