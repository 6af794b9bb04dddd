package dashboards

import "fmt"

// Every series has the label mode, its route. The gateways count answers by server
// (grpc_requests_total). The other metrics are those of the gRPC and process collectors for
// Prometheus.
const (
	requests  = "grpc_requests_total"
	handled   = "grpc_client_handled_total"
	latencies = "grpc_client_handling_seconds_bucket"
	processor = "process_cpu_seconds_total"

	gateways = `job="gateway"`
	servers  = `job="server"`
	chosen   = `mode=~"$mode"`
)

// window is the interval of rates: at least four scrapes (Grafana's $__rate_interval).
const window = "[$__rate_interval]"

// perServer is the number of answers of each server in a mode.
func perServer(mode string) string {
	return fmt.Sprintf(`sum by (server_name) (%s{mode="%s"})`, requests, mode)
}

// total is the number of answers of all servers in a mode.
func total(mode string) string { return fmt.Sprintf(`sum(%s{mode="%s"})`, requests, mode) }

// growth is the increase of each server's answers in the window.
func growth(mode string) string {
	return fmt.Sprintf(`sum by (server_name) (increase(%s{mode="%s"}%s))`, requests, mode, window)
}

// calls is the number of calls answered per second.
func calls() string {
	return fmt.Sprintf(`sum by (mode) (rate(%s{%s}%s))`, requests, chosen, window)
}

// quantile is the quantile q of the latency, in seconds.
func quantile(q float64) string {
	return fmt.Sprintf(`histogram_quantile(%g, sum by (mode, le) (rate(%s{%s}%s)))`, q, latencies, chosen, window)
}

// failures is the number of failed calls per second, by code. Every mode also has a line at zero
// without a code, which distinguishes a mode without failures from one without data.
func failures() string {
	return fmt.Sprintf(`sum by (mode, grpc_code) (rate(%[1]s{%[2]s, grpc_code!="OK"}%[3]s))
or sum by (mode) (0 * rate(%[1]s{%[2]s}%[3]s))`, handled, chosen, window)
}

// balance is Jain's index of the calls per server, (Σx)² / (n·Σx²): 1 when every one of n servers
// gets the same number of calls, 1/n when one server gets all (R. Jain et al., DEC-TR-301, 1984).
// count is the query of x for the counter's selector. n is the number of servers that are up, with
// or without calls, or of those with calls if that is larger: with fewer, the index would exceed 1
// after servers have left. Without any call there is no value.
func balance(count func(selector string) string) string {
	x := fmt.Sprintf(`sum by (mode, server_name) (%s)`, count(fmt.Sprintf(`%s{%s}`, requests, chosen)))
	running := fmt.Sprintf(`count by (mode) (up{%s, %s} == 1)`, servers, chosen)
	called := fmt.Sprintf(`count by (mode) (%s > 0)`, x)
	return fmt.Sprintf(`sum by (mode) (%[1]s) ^ 2
/ ((%[2]s > %[3]s or %[3]s >= %[2]s) * (sum by (mode) ((%[1]s) ^ 2) > 0))`, x, running, called)
}

func sinceStart(selector string) string { return selector }
func lately(selector string) string     { return "increase(" + selector + window + ")" }

// processorPerCall is the CPU time of a job's processes per call, in seconds.
func processorPerCall(job string) string {
	return fmt.Sprintf(`sum by (mode) (rate(%s{%s, %s}%s))
/ (%s > 0)`, processor, job, chosen, window, calls())
}
