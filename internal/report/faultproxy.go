package report

import (
	"fmt"

	"rpclab/internal/result"
)

// faultProxyInWords says what the fault proxies before the backends of a service add to a call.
func faultProxyInWords(p result.FaultProxy) string {
	where := "the fault proxy before each backend of " + clean(p.Service)
	if p.DirectMS == nil || p.ProxyMS == nil || p.CPU == nil {
		return fmt.Sprintf("It is not known what %s adds to a call: %s.", where, clean(p.Unknown))
	}
	latency := fmt.Sprintf("%.0f µs (p50)", (*p.ProxyMS-*p.DirectMS)*1000)
	if *p.ProxyMS <= *p.DirectMS {
		latency = "no measurable time"
	}
	return fmt.Sprintf("%s adds %s and %.0f µs of CPU time to a call, in all arms (measured with one call at a time).", capital(where), latency, *p.CPU)
}
