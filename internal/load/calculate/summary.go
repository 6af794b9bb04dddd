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
	s := Summary{Calls: len(calls), Errors: map[string]int{}}
	var took []float64
	var lastSent time.Duration
	sent, done := map[int64]int{}, map[int64]int{}
	for _, c := range calls {
		s.Duration, lastSent = max(s.Duration, c.Done), max(lastSent, c.Sent)
		sent[int64(c.Sent/time.Second)]++
		if c.Code != "OK" {
			s.Errors[c.Code]++
			continue
		}
		done[int64(c.Done/time.Second)]++
		took = append(took, float64(c.Done-c.Sent)/float64(time.Millisecond))
	}
	s.Answered = len(took)
	s.RequestTPS, s.RequestMax = tps(len(calls), lastSent, sent)
	s.ResponseTPS, s.ResponseMax = tps(len(took), s.Duration, done)
	if len(took) == 0 {
		return s
	}
	slices.Sort(took)
	rank := func(p float64) float64 { return took[max(0, int(math.Ceil(p*float64(len(took))))-1)] }
	s.P50, s.P90, s.P95, s.Min, s.Max = rank(0.5), rank(0.9), rank(0.95), took[0], took[len(took)-1]
	for _, ms := range took {
		s.Mean += ms / float64(len(took))
	}
	for _, ms := range took {
		s.Sigma += (ms - s.Mean) * (ms - s.Mean) / float64(len(took))
	}
	s.Sigma = math.Sqrt(s.Sigma)
	return s
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
func Print(w io.Writer, calls []Call, limit time.Duration) {
	s := Summarize(calls)
	fmt.Fprintf(w, "%d of %d calculations answered in %.2f s\n", s.Answered, s.Calls, s.Duration.Seconds())
	fmt.Fprintf(w, "requests   %.1f TPS on average, %.0f at most in a second\n", s.RequestTPS, s.RequestMax)
	fmt.Fprintf(w, "responses  %.1f TPS on average, %.0f at most in a second\n", s.ResponseTPS, s.ResponseMax)
	fmt.Fprintf(w, "latency    mean %.3f  p50 %.3f  p90 %.3f  p95 %.3f  min %.3f  max %.3f  σ %.3f ms\n",
		s.Mean, s.P50, s.P90, s.P95, s.Min, s.Max, s.Sigma)
	for _, code := range sorted(s.Errors) {
		fmt.Fprintf(w, "failed     %d %s: %s\n", s.Errors[code], code, first(calls, code))
	}
	if limit == 0 {
		return
	}
	over := SlowerThan(calls, limit)
	fmt.Fprintf(w, "%d took longer than %s\n", len(over), limit)
	for n, c := range over {
		if n == maxListed {
			fmt.Fprintf(w, "  and %d more\n", len(over)-maxListed)
			break
		}
		fmt.Fprintf(w, "  number %d, sent at %.3f s: %.3f ms, %s\n", c.Number, c.Sent.Seconds(), float64(c.Done-c.Sent)/1e6, c.Code)
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
