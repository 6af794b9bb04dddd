package calculate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	terminal "rpclab/internal/load/summary"
)

// Summary summarizes a load. TPS are per second.
type Summary struct {
	Calls, Answered          int
	Errors                   map[string]int // by code
	Duration                 time.Duration  // from the start to the last response
	RequestTPS, RequestMax   float64        // mean, and of the busiest second
	ResponseTPS, ResponseMax float64
	AnsweredLatency          Latency // of the answered calls alone
	// Latency is of all calls, except those that an interrupt cancelled. A lost call counts as its
	// deadline, or as the slowest answer if that took longer.
	Latency Latency
}

// Latency is in ms; percentiles are by nearest rank.
type Latency struct {
	Mean, P50, P90, P95, Min, Max, Sigma float64
	Lost                                 float64 // share of the calls that were lost: the highest values are lower bounds
}

// Summarize computes the summary of calls with a deadline. Means are over the time with calls, as the
// last second may be incomplete.
func Summarize(calls []Call, deadline time.Duration) Summary {
	summary := Summary{Calls: len(calls), Errors: map[string]int{}}
	var took []float64
	var lastSent time.Duration
	lost := 0
	sent, done := map[int64]int{}, map[int64]int{}
	for _, call := range calls {
		summary.Duration, lastSent = max(summary.Duration, call.Done), max(lastSent, call.Sent)
		sent[int64(call.Sent/time.Second)]++
		if call.Code != "OK" {
			summary.Errors[call.Code]++
			if !call.Interrupted {
				lost++
			}
			continue
		}
		done[int64(call.Done/time.Second)]++
		took = append(took, ms(call.Done-call.Sent))
	}
	summary.Answered = len(took)
	summary.RequestTPS, summary.RequestMax = tps(len(calls), lastSent, sent)
	summary.ResponseTPS, summary.ResponseMax = tps(len(took), summary.Duration, done)
	slices.Sort(took)
	summary.AnsweredLatency = latencyOf(took)
	bound := max(ms(deadline), summary.AnsweredLatency.Max)
	summary.Latency = latencyOf(append(took, slices.Repeat([]float64{bound}, lost)...))
	summary.Latency.Lost = float64(lost) / float64(max(len(took)+lost, 1))
	return summary
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// latencyOf returns the figures of sorted values in ms.
func latencyOf(took []float64) (of Latency) {
	if len(took) == 0 {
		return of
	}
	rank := func(p float64) float64 { return took[max(0, int(math.Ceil(p*float64(len(took))))-1)] }
	of.P50, of.P90, of.P95, of.Min, of.Max = rank(0.5), rank(0.9), rank(0.95), took[0], took[len(took)-1]
	for _, ms := range took {
		of.Mean += ms / float64(len(took))
	}
	for _, ms := range took {
		of.Sigma += (ms - of.Mean) * (ms - of.Mean) / float64(len(took))
	}
	of.Sigma = math.Sqrt(of.Sigma)
	return of
}

// String returns the figures, with > before those that are only lower bounds. The deviation of lost
// calls is not known.
func (l Latency) String() string {
	figure := func(name string, value, percentile float64) string {
		bound := ""
		if percentile > 100*(1-l.Lost)+1e-9 {
			bound = ">"
		}
		return fmt.Sprintf("%s %s%.3f", name, bound, value)
	}
	all := []string{figure("mean", l.Mean, 100), figure("p50", l.P50, 50), figure("p90", l.P90, 90), figure("p95", l.P95, 95), figure("min", l.Min, 1e-6), figure("max", l.Max, 100)}
	if l.Lost == 0 {
		all = append(all, fmt.Sprintf("σ %.3f", l.Sigma))
	}
	return strings.Join(all, "  ") + " ms"
}

// tps returns the mean over a time, of a second at least, and the most in one second. The last second may be
// incomplete and busier than the others: then the mean is the most.
func tps(n int, over time.Duration, seconds map[int64]int) (average, most float64) {
	average = float64(n) / max(over, time.Second).Seconds()
	most = average
	for _, in := range seconds {
		most = max(most, float64(in))
	}
	return average, most
}

// maxListed bounds the list of slow calls.
const maxListed = 20

// Print writes the summary and the calls that took longer than the limit of the settings.
func Print(out io.Writer, calls []Call, settings Settings) {
	summary, limit := Summarize(calls, settings.Timeout), settings.LatencyOver
	fmt.Fprintf(out, "%d of %d calculations answered in %.2f s\n", summary.Answered, summary.Calls, summary.Duration.Seconds())
	fmt.Fprintf(out, "requests   %.1f TPS on average, %.0f at most in a second\n", summary.RequestTPS, summary.RequestMax)
	fmt.Fprintf(out, "responses  %.1f TPS on average, %.0f at most in a second\n", summary.ResponseTPS, summary.ResponseMax)
	if summary.Latency.Max > 0 {
		fmt.Fprintf(out, "latency    %s\n", summary.Latency)
	}
	if lost := summary.Latency.Lost; lost > 0 {
		fmt.Fprintf(out, "           %.3g %% of the calls were lost; each counts as its deadline (>)\n", 100*lost)
	}
	if summary.Latency.Lost > 0 && summary.Answered > 0 {
		fmt.Fprintf(out, "answered   %s\n", summary.AnsweredLatency)
	}
	for _, code := range sorted(summary.Errors) {
		fmt.Fprintf(out, "failed     %d %s: %s\n", summary.Errors[code], code, terminal.Clean(first(calls, code)))
	}
	if limit == 0 {
		return
	}
	over := SlowerThan(calls, limit)
	fmt.Fprintf(out, "%d took longer than %s\n", len(over), limit)
	for n, call := range over {
		if n == maxListed {
			fmt.Fprintf(out, "  and %d more\n", len(over)-maxListed)
			break
		}
		q := settings.Calculation
		fmt.Fprintf(out, "  number %d, x=%d, y=%d, operation=%s, sent at %.3f s: %.3f ms, %s\n", call.Number, q.X, q.Y, q.Operation, call.Sent.Seconds(), ms(call.Done-call.Sent), call.Code)
	}
}

func sorted(errors map[string]int) (codes []string) {
	for code := range errors {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// first returns the first message of a code.
func first(calls []Call, code string) string {
	for _, c := range calls {
		if c.Code == code {
			return c.Message
		}
	}
	return ""
}
