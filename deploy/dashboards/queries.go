package dashboards

import "fmt"

// Every series carries the label mode, the route that it belongs to. The gateways count
// answers by the server that gave them; the other names are those of the gRPC and process
// collectors for Prometheus.
const (
	requests  = "grpc_requests_total"
	handled   = "grpc_client_handled_total"
	latencies = "grpc_client_handling_seconds_bucket"
	processor = "process_cpu_seconds_total"

	gateways = `job="gateway"`
	servers  = `job="server"`
	chosen   = `mode=~"$mode"`
)

// window is the time that a rate is taken over: four scrapes at least, so Grafana.
const window = "[$__rate_interval]"

// perServer are the answers of each server in a mode.
func perServer(mode string) string {
	return fmt.Sprintf(`sum by (server_name) (%s{mode="%s"})`, requests, mode)
}

// total are the answers of all servers in a mode.
func total(mode string) string { return fmt.Sprintf(`sum(%s{mode="%s"})`, requests, mode) }

// growth is by how much each server's answers grew in the window.
func growth(mode string) string {
	return fmt.Sprintf(`sum by (server_name) (increase(%s{mode="%s"}%s))`, requests, mode, window)
}

// calls are those answered per second.
func calls() string {
	return fmt.Sprintf(`sum by (mode) (rate(%s{%s}%s))`, requests, chosen, window)
}

// quantile is the latency, in seconds, that a share q of the calls keeps within.
func quantile(q float64) string {
	return fmt.Sprintf(`histogram_quantile(%g, sum by (mode, le) (rate(%s{%s}%s)))`, q, latencies, chosen, window)
}

// failures are the calls per second that failed, by code. Every mode has a line at zero
// besides, without a code, which tells one without failures from one that nobody looks at.
func failures() string {
	return fmt.Sprintf(`sum by (mode, grpc_code) (rate(%[1]s{%[2]s, grpc_code!="OK"}%[3]s))
or sum by (mode) (0 * rate(%[1]s{%[2]s}%[3]s))`, handled, chosen, window)
}

// balance is Jain's index of the calls per server, (Σx)² / (n·Σx²): 1 when all of the n
// servers got as many, 1/n when one got them all (R. Jain et al., DEC-TR-301, 1984).
// count makes x of the counter's selector. n counts the servers that are up, so that one
// without a call counts too; nothing is said where there were no calls.
func balance(count func(selector string) string) string {
	x := fmt.Sprintf(`sum by (mode, server_name) (%s)`, count(fmt.Sprintf(`%s{%s}`, requests, chosen)))
	return fmt.Sprintf(`sum by (mode) (%[1]s) ^ 2
/ (count by (mode) (up{%[2]s, %[3]s} == 1) * (sum by (mode) ((%[1]s) ^ 2) > 0))`, x, servers, chosen)
}

func sinceStart(selector string) string { return selector }
func lately(selector string) string     { return "increase(" + selector + window + ")" }

// processorPerCall is the processor time of a job's processes for a call, in seconds.
func processorPerCall(job string) string {
	return fmt.Sprintf(`sum by (mode) (rate(%s{%s, %s}%s))
/ (%s > 0)`, processor, job, chosen, window, calls())
}
