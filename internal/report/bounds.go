package report

import (
	"math"
	"strings"

	"rpclab/internal/result"
)

// boundedRatio is a ratio in a sentence: "at least 3.00" where the ratio is a lower bound.
func boundedRatio(v float64, bound result.RatioBound) string {
	text := ratio(outward(v, bound))
	switch {
	case strings.HasPrefix(text, "<"):
		return "under " + text[1:]
	case strings.HasPrefix(text, ">"):
		return "over " + text[1:]
	}
	return boundInWords(bound) + text
}

// boundInWords precedes a bound in a sentence.
func boundInWords(bound result.RatioBound) string {
	return map[result.RatioBound]string{result.LowerBound: "at least ", result.UpperBound: "at most "}[bound]
}

// outward returns a ratio that [ratio] rounds up if it is an upper bound, and down if it is a lower bound.
func outward(v float64, bound result.RatioBound) float64 {
	digit := 1.0 // the last that is shown
	switch {
	case v <= 0:
		return v
	case v < 0.0995:
		digit = math.Pow(10, math.Floor(math.Log10(v))-1)
	case v < 9.995:
		digit = 0.01
	case v < 99.95:
		digit = 0.1
	}
	const half = 0.5 - 1e-9 // what needs no rounding stays
	return v + map[result.RatioBound]float64{result.LowerBound: -half, result.UpperBound: half}[bound]*digit
}

// ratioInTable is a ratio in a table: "≥ 3.00" where the ratio is a lower bound.
func ratioInTable(v float64, bound result.RatioBound) string {
	text := ratio(outward(v, bound))
	if strings.HasPrefix(text, "<") || strings.HasPrefix(text, ">") {
		return text
	}
	return map[result.RatioBound]string{result.LowerBound: "≥ ", result.UpperBound: "≤ "}[bound] + text
}
