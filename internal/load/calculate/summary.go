package calculate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Summary summarizes a load. TPS are per second.
type Summary struct {
	Calls, Answered          int
	Errors                   map[string]int // by code
	Duration                 time.Duration  // from the start to the last response
	RequestTPS, RequestMax   float64        // mean, and of the busiest second
	ResponseTPS, ResponseMax float64
	// Of answered calls, in ms; percentiles by nearest rank.
	Mean, P50, P90, P95, Min, Max, Sigma float64
}

// Summarize computes the summary. Means are over the time with calls, as the last second may
// be incomplete.
func Summarize(calls []Call) Summary {
	summary := Summary{Calls: len(calls), Errors: map[string]int{}}
	var took []float64
	var lastSent time.Duration
	sent, done := map[int64]int{}, map[int64]int{}
	for _, call := range calls {
		summary.Duration, lastSent = max(summary.Duration, call.Done), max(lastSent, call.Sent)
		sent[int64(call.Sent/time.Second)]++
		if call.Code != "OK" {
			summary.Errors[call.Code]++
			continue
		}
		done[int64(call.Done/time.Second)]++
		took = append(took, float64(call.Done-call.Sent)/float64(time.Millisecond))
	}
	summary.Answered = len(took)
	summary.RequestTPS, summary.RequestMax = tps(len(calls), lastSent, sent)
	summary.ResponseTPS, summary.ResponseMax = tps(len(took), summary.Duration, done)
	if len(took) == 0 {
		return summary
	}
	slices.Sort(took)
	rank := func(p float64) float64 { return took[max(0, int(math.Ceil(p*float64(len(took))))-1)] }
	summary.P50, summary.P90, summary.P95, summary.Min, summary.Max = rank(0.5), rank(0.9), rank(0.95), took[0], took[len(took)-1]
	for _, ms := range took {
		summary.Mean += ms / float64(len(took))
	}
	for _, ms := range took {
		summary.Sigma += (ms - summary.Mean) * (ms - summary.Mean) / float64(len(took))
	}
	summary.Sigma = math.Sqrt(summary.Sigma)
	return summary
}

// tps returns the mean over a time and the most in one second.
func tps(n int, over time.Duration, seconds map[int64]int) (average, most float64) {
	for _, in := range seconds {
		most = max(most, float64(in))
	}
	if over > 0 {
		average = float64(n) / over.Seconds()
	}
	return average, most
}

// maxListed bounds the list of slow calls.
const maxListed = 20

// Print writes the summary and the calls that took longer than a limit; 0: no list.
func Print(out io.Writer, calls []Call, limit time.Duration) {
	summary := Summarize(calls)
	fmt.Fprintf(out, "%d of %d calculations answered in %.2f s\n", summary.Answered, summary.Calls, summary.Duration.Seconds())
	fmt.Fprintf(out, "requests   %.1f TPS on average, %.0f at most in a second\n", summary.RequestTPS, summary.RequestMax)
	fmt.Fprintf(out, "responses  %.1f TPS on average, %.0f at most in a second\n", summary.ResponseTPS, summary.ResponseMax)
	fmt.Fprintf(out, "latency    mean %.3f  p50 %.3f  p90 %.3f  p95 %.3f  min %.3f  max %.3f  σ %.3f ms\n",
		summary.Mean, summary.P50, summary.P90, summary.P95, summary.Min, summary.Max, summary.Sigma)
	for _, code := range sorted(summary.Errors) {
		fmt.Fprintf(out, "failed     %d %s: %s\n", summary.Errors[code], code, first(calls, code))
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
		fmt.Fprintf(out, "  number %d, sent at %.3f s: %.3f ms, %s\n", call.Number, call.Sent.Seconds(), float64(call.Done-call.Sent)/1e6, call.Code)
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
