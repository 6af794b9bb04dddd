package calculate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Summary is what a load came to, in the study's words. TPS are per second.
type Summary struct {
	Calls, Answered          int
	Errors                   map[string]int // by code
	Duration                 time.Duration  // from the start to the last answer
	RequestTPS, RequestMax   float64        // on average, and in the second with most
	ResponseTPS, ResponseMax float64
	// Of the calls that were answered, in ms; percentiles by nearest rank.
	Mean, P50, P90, P95, Min, Max, Sigma float64
}

// Sum sums up calls. Averages are over the time in which there were any: the last second is
// shorter.
func Sum(calls []Call) Summary {
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

// tps are the average over a time, and the most in one of its seconds.
func tps(n int, over time.Duration, seconds map[int64]int) (average, most float64) {
	for _, in := range seconds {
		most = max(most, float64(in))
	}
	if over > 0 {
		average = float64(n) / over.Seconds()
	}
	return average, most
}

// listed is how many of the calls over a limit are listed.
const listed = 20

// Print writes a summary, and which calls took longer than a limit; 0: there is none.
func Print(w io.Writer, calls []Call, limit time.Duration) {
	s := Sum(calls)
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
	over := Over(calls, limit)
	fmt.Fprintf(w, "%d took more than %s\n", len(over), limit)
	for n, c := range over {
		if n == listed {
			fmt.Fprintf(w, "  and %d more\n", len(over)-listed)
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

// first is the first message of a code.
func first(calls []Call, code string) string {
	for _, c := range calls {
		if c.Code == code {
			return c.Message
		}
	}
	return ""
}
