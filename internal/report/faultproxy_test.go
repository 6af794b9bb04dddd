package report

import (
	"testing"

	"rpclab/internal/result"
)

func TestTheCostOfAFaultProxyIsSaid(t *testing.T) {
	for want, cost := range map[string]result.FaultProxy{
		"The fault proxy before each backend of shop adds 85 µs (p50) and 31 µs of CPU time to a call, in all arms.":            {Service: "shop", Calls: 100, DirectMS: 2, ProxyMS: 2.085, CPU: 31.2},
		"The fault proxy before each backend of shop adds no measurable time and 31 µs of CPU time to a call, in all arms.":     {Service: "shop", Calls: 100, DirectMS: 2, ProxyMS: 1.9, CPU: 31.2},
		"It is not known what the fault proxy before each backend of shop adds to a call: a call failed with INTERNAL: broken.": {Service: "shop", Unknown: "a call failed with INTERNAL: broken"},
	} {
		if got := faultProxyInWords(cost); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
