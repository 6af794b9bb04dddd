package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// fewestRounds is how many rounds a verdict needs: docs/decisions/0004-verdicts.md.
const fewestRounds = 4

func headlineName(metric string) string {
	if name, is := percentile(metric); is {
		return name + " ms"
	}
	return clean(metric)
}

// comparative is how arms are compared on a headline metric, with the arm with which they are compared
// last: one arm is faster than shared, several are.
type comparative struct {
	where               string    // begins the sentence
	better, worse, same [2]string // of one arm, and of several
	unit                string    // of the ratio
	column              string    // of the value
	show                func(float64) string
}

// adjective is a comparative of the form "is faster than".
func adjective(where, better, worse, same, unit, column string, show func(float64) string) comparative {
	be := func(words string) [2]string { return [2]string{"is " + words, "are " + words} }
	return comparative{where, be(better), be(worse), be(same), unit, column, show}
}

// verb is a comparative of the form "uses less client CPU than"; after is what follows the verb.
func verb(one, several, better, worse, same, unit, column string, show func(float64) string) comparative {
	both := func(after string) [2]string { return [2]string{one + " " + after, several + " " + after} }
	return comparative{"", both(better), both(worse), both(same), unit, column, show}
}

func comparativeOf(metric string) comparative {
	const times = "times as long"
	if _, is := percentile(metric); is {
		return adjective(capital(metricName(metric))+", ", "faster than", "slower than", "as fast as", times, headlineName(metric), ms)
	}
	component, resource, _ := strings.Cut(clean(metric), "_")
	switch {
	case metric == "capacity":
		return verb("has", "have", "a higher capacity than", "a lower capacity than", "the same capacity as", "times as many calls a second", "calls/s", rate)
	case metric == "elapsed":
		return adjective("Until the last response, ", "faster than", "slower than", "as fast as", times, "elapsed ms", ms)
	case metric == "convergence":
		return adjective("Until calls are balanced again, ", "faster than", "slower than", "as fast as", times, "balanced again ms", ms)
	case metric == "followed":
		return verb("calls", "call", "new backends sooner than", "new backends later than", "new backends as soon as", times, "followed ms", msOrNever)
	case metric == "failed":
		return verb("loses", "lose", "fewer calls than", "more calls than", "as many calls as", "times as many", "lost calls", shareOfCalls)
	case metric == "rate":
		return verb("makes", "make", "more calls/s than", "fewer calls/s than", "as many calls/s as", "times as many", "calls/s", rate)
	case metric == "balance":
		return verb("balances", "balance", "calls more evenly than", "calls less evenly than", "calls as evenly as", "times Jain's index", "Jain", ratio)
	case resource == "memory":
		return verb("uses", "use", "less "+component+" memory than", "more "+component+" memory than", "as much "+component+" memory as", "times as much", component+" MB", number)
	case resource == "cpu":
		return verb("uses", "use", "less "+component+" CPU than", "more "+component+" CPU than", "as much "+component+" CPU as", "times as much", component+" CPU µs", used)
	}
	return adjective(capital(metricName(metric))+", ", "better than", "worse than", "the same as", "times", shortName(metric), ratio)
}

// words of a decision without the other arm: faster, fewer calls.
func (c comparative) words(decision string) string {
	of := map[string]string{"better": c.better[0], "worse": c.worse[0], "equivalent": c.same[0]}[decision]
	of = strings.TrimPrefix(of, "is ")
	return strings.TrimSuffix(strings.TrimSuffix(of, " than"), " as")
}

// msOrNever is a time in ms that may be infinite.
func msOrNever(v float64) string {
	if math.IsInf(v, 1) {
		return never
	}
	return ms(v)
}

// shareOfCalls is a share as a percentage with two significant digits.
func shareOfCalls(share float64) string {
	percent := 100 * share
	switch {
	case percent == 0:
		return "none"
	case percent < 0.001:
		return "under 0.001 %"
	case percent >= 9.95:
		return fmt.Sprintf("%.0f %%", percent)
	case percent >= 0.995:
		return fmt.Sprintf("%.1f %%", percent)
	}
	return tiny(percent) + " %"
}

// figureOf is what one arm measured in one cell on a headline metric; false: nothing.
func figureOf(a result.Arm, metric string) (result.Figure, bool) {
	value := func(v float64) (result.Figure, bool) { return result.Figure{Value: v}, v > 0 }
	component, resource, _ := strings.Cut(metric, "_")
	usage, known := map[string]result.Usage{"client": a.Resources.Client, "server": a.Resources.Server, "proxy": a.Resources.Proxy, "gateway": a.Resources.Gateway}[component]
	switch {
	case component == "latency":
		return a.Latency.Figure(resource), !a.Latency.Empty()
	case known && resource == "cpu":
		return value(usage.CPU)
	case known:
		return value(float64(usage.RSS) / 1e6)
	case metric == "capacity":
		if a.Capacity == nil || a.Capacity.Count == 0 {
			return result.Figure{}, false
		}
		return value(a.Capacity.Rate)
	case metric == "elapsed":
		return value(a.ElapsedMS)
	case metric == "rate":
		return result.Figure{Value: a.Answered()}, a.Rate > 0
	case metric == "balance":
		return result.Figure{Value: a.Balance.Jain}, slices.ContainsFunc(a.Trials, func(t result.Trial) bool { return t.BalanceOver() > 1 })
	case metric == "failed":
		return result.Figure{Value: a.Lost()}, a.Calls+a.Dropped > 0
	case metric == "followed" && a.Followed != nil:
		if a.Followed.MedianMS == nil {
			return value(math.Inf(1))
		}
		return value(*a.Followed.MedianMS)
	}
	return result.Figure{}, false
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
	case is && name == "p999":
		return "at p99.9"
	case is && name == "mean":
		return "in the mean"
	case is:
		return "at " + name
	}
	return "in " + metricNoun(metric)
}

// metricNoun is the metric in words: median, p99, capacity.
func metricNoun(metric string) string {
	switch metric {
	case "latency_p50":
		return "median"
	case "failed":
		return "failed calls"
	case "followed":
		return "time to new backends"
	case "elapsed":
		return "elapsed time"
	}
	return shortName(metric)
}

// inMetric is "at p50" or "in elapsed time".
func inMetric(metric string) string {
	if isLatency(metric) {
		return "at " + shortName(metric)
	}
	return "in " + metricNoun(metric)
}

// shortName is the metric without its quantity: p50, p99, capacity, client CPU.
func shortName(metric string) string {
	if name, is := percentile(metric); is {
		return name
	}
	return clean(strings.NewReplacer("_cpu", " CPU", "_", " ").Replace(metric))
}

// percentile is the name of a latency's percentile, p99; false: the metric is none.
func percentile(metric string) (name string, is bool) {
	name, is = strings.CutPrefix(clean(metric), "latency_")
	return name, is
}

func isLatency(metric string) bool {
	_, is := percentile(metric)
	return is
}

// overCells is the range of a figure of an arm, given in all its cells.
func overCells(arms []result.Arm, name string, show func(float64) string) string {
	var figures []result.Figure
	for _, a := range arms {
		if f, known := figureOf(a, name); known {
			figures = append(figures, f)
		}
	}
	if len(figures) == 0 {
		return none
	}
	byValue := func(a, b result.Figure) int { return cmp.Compare(a.Value, b.Value) }
	return fromTo(slices.MinFunc(figures, byValue), slices.MaxFunc(figures, byValue), func(f result.Figure) string { return bounded(f, show) })
}
