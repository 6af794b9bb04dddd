package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// balancing compares the routes: latency, failures, balance and CPU time.
func balancing() (dashboard.Dashboard, error) {
	byMode := func(query string) *prometheus.DataqueryBuilder { return over(query, "{{mode}}") }
	even := steps("red", from(0.9, "yellow"), from(0.99, "green"))
	coloured := common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeLine)

	return start("Balancing", "rpclab-balancing",
		"The routes side by side: calls, failures, latency, balance and CPU time.").
		WithVariable(values("mode", "mode", "up{"+gateways+"}").Label("Route")).
		WithRow(dashboard.NewRowBuilder("Calls")).
		WithPanel(lines("Calls per second",
			"Calls answered, by route.",
			units.RequestsPerSecond, 12, byMode(calls()))).
		WithPanel(lines("Failed calls per second",
			"Calls that ended with a code other than OK, by route and code. A line at zero without a code: none failed.",
			units.RequestsPerSecond, 12, over(failures(), "{{mode}} {{grpc_code}}")).
			Thresholds(steps("green", from(0.001, "red"))).ThresholdsStyle(coloured)).
		WithRow(dashboard.NewRowBuilder("Time until a call ended, with a response or an error, measured by the gateway")).
		WithPanel(lines("Median", "Half of the calls ended within this, including failed calls. Interpolated within a bucket of the histogram.",
			units.Seconds, 8, byMode(quantile(0.5)))).
		WithPanel(lines("p90", "Nine of ten calls ended within this, including failed calls.",
			units.Seconds, 8, byMode(quantile(0.9)))).
		WithPanel(lines("p99", "99 of 100 calls ended within this, including failed calls.",
			units.Seconds, 8, byMode(quantile(0.99)))).
		WithRow(dashboard.NewRowBuilder("Balance: Jain's index of the calls per server")).
		WithPanel(figure("Since the start",
			"1: every server gets the same number of calls; 1/n: one of n servers gets every call. n is the number of running servers, or of servers with calls if these are more because some have left.",
			units.NoUnit, 8, now(balance(sinceStart), "{{mode}}")).
			Min(0).Max(1).Decimals(3).Thresholds(even)).
		WithPanel(lines("Over time",
			"The same for the calls of the last four scrapes. Empty while there are no calls.",
			units.NoUnit, 16, byMode(balance(lately))).
			Max(1).Decimals(3).Thresholds(even).ThresholdsStyle(coloured)).
		WithRow(dashboard.NewRowBuilder("CPU time per call")).
		WithPanel(lines("Gateway",
			"CPU time of the gateway (the gRPC client) for an answered call. A proxy's CPU time is not included; `rpclab run balancing` measures it.",
			units.Seconds, 12, byMode(processorPerCall(gateways)))).
		WithPanel(lines("Servers",
			"CPU time of all servers of the route for an answered call. A proxy's CPU time is not included; `rpclab run balancing` measures it.",
			units.Seconds, 12, byMode(processorPerCall(servers)))).
		Build()
}
