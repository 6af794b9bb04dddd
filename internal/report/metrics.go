package report

import "strings"

// fewestRounds is how many rounds a verdict needs: docs/decisions/0004-verdicts.md.
const fewestRounds = 4

func headlineName(metric string) string {
	if name, is := percentile(metric); is {
		return name + " ms"
	}
	return clean(metric)
}

type secondary struct{ metric, column, better, worse string }

// secondaries are the other metrics in the order of their columns, with the words for better and
// worse.
var secondaries = []secondary{
	{"latency_mean", "mean", "lower mean latency", "higher mean latency"},
	{"latency_p90", "p90", "faster at p90", "slower at p90"},
	{"latency_p999", "p99.9", "faster at p99.9", "slower at p99.9"},
	{"rate", "calls/s", "more calls/s", "fewer calls/s"},
	{"capacity", "capacity", "more capacity", "less capacity"},
	{"errors", "errors", "fewer errors", "more errors"},
	{"client_cpu", "client CPU", "uses less client CPU", "uses more client CPU"},
	{"server_cpu", "server CPU", "uses less server CPU", "uses more server CPU"},
	{"client_memory", "client MB", "uses less client memory", "uses more client memory"},
	{"server_memory", "server MB", "uses less memory in a server", "uses more memory in a server"},
	{"proxy_cpu", "proxy CPU", "uses less proxy CPU", "uses more proxy CPU"},
	{"proxy_memory", "proxy MB", "uses less proxy memory", "uses more proxy memory"},
	{"gateway_cpu", "gateway CPU", "uses less gateway CPU", "uses more gateway CPU"},
	{"gateway_memory", "gateway MB", "uses less gateway memory", "uses more gateway memory"},
	{"balance", "Jain", "balances calls more evenly", "balances calls less evenly"},
	{"convergence", "balanced again", "balanced again sooner", "balanced again later"},
}

// metricName completes a comparison: at the median, at p99, in capacity.
func metricName(metric string) string {
	switch name, is := percentile(metric); {
	case is && name == "p50":
		return "at the median"
	case is:
		return "at " + name
	}
	return "in " + metricNoun(metric)
}

// metricNoun is the metric in words: median, p99, capacity.
func metricNoun(metric string) string {
	if metric == "latency_p50" {
		return "median"
	}
	return shortName(metric)
}

// shortName is the metric without its quantity: p50, p99, capacity.
func shortName(metric string) string {
	if name, is := percentile(metric); is {
		return name
	}
	return clean(strings.ReplaceAll(metric, "_", " "))
}

// percentile is the name of a latency's percentile, p99; false: the metric is none.
func percentile(metric string) (name string, is bool) {
	name, is = strings.CutPrefix(clean(metric), "latency_")
	return name, is
}
