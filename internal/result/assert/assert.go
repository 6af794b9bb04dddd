// Package assert is the language of --assert: `p99 < 50ms`, `errors == 0`,
// `errors < 0.1% and rate >= 950/s`.
//
//	assertion  = comparison { ( "&&" | "and" ) comparison }
//	comparison = metric operator value
//	operator   = "<" | "<=" | ">" | ">=" | "==" | "!="
//	metric     = a latency: "min" | "mean" | "p50" | "p90" | "p95" | "p99" | "p999" | "max",
//	             the same after "service_" or "lateness_",
//	             "rate" | "calls" | "errors" | "errors." CODE | "dropped"
//	value      = number unit: a duration for latencies (ns, us, ms, s, m), none or "/s" for
//	             the rate, none or "%" (of all calls) for counts
package assert

import (
	"fmt"
	"regexp"
	"strings"

	"rpclab/internal/result"
)

// Assertion is a condition on what was measured.
type Assertion struct {
	text        string
	comparisons []comparison
}

type comparison struct {
	metric   metric
	name     string
	operator string
	value    value
	text     string
}

// String is the assertion as it was written.
func (a Assertion) String() string { return a.text }

// Check returns what does not hold, each with the measured value and by how much it
// misses; nil when everything holds.
func (a Assertion) Check(m result.Measures) (failures []string) {
	for _, c := range a.comparisons {
		got, known := c.metric.of(m)
		limit := c.value.number
		if c.value.percent {
			limit *= float64(c.metric.whole(m)) / 100
		}
		switch {
		case !known:
			failures = append(failures, fmt.Sprintf("%s: there is no %s, since %s", c.text, c.name, c.metric.lack))
		case !holds(got, c.operator, limit):
			failures = append(failures, fmt.Sprintf("%s: it is %s%s", c.text, c.shown(got, m), by(got, limit)))
		}
	}
	return failures
}

func (c comparison) shown(got float64, m result.Measures) string {
	text := c.metric.show(got)
	if whole := c.metric.whole(m); c.value.percent && whole > 0 {
		text += fmt.Sprintf(" of %d, %.3g %%", whole, 100*got/float64(whole))
	}
	return text
}

func holds(got float64, operator string, limit float64) bool {
	switch operator {
	case "<":
		return got < limit
	case "<=":
		return got <= limit
	case ">":
		return got > limit
	case ">=":
		return got >= limit
	case "==":
		return got == limit
	}
	return got != limit
}

// by is how far the value is from the limit, where a share of it says something.
func by(got, limit float64) string {
	switch {
	case limit == 0 || got == limit:
		return ""
	case got > 2*limit:
		return fmt.Sprintf(", %.3g times as much", got/limit)
	case got > limit:
		return fmt.Sprintf(", %.3g %% more", 100*(got/limit-1))
	}
	return fmt.Sprintf(", %.3g %% less", 100*(1-got/limit))
}

// operators are in the order in which they are looked for: the longest first.
var operators = []string{"<=", ">=", "==", "!=", "<", ">"}

// and joins comparisons.
var and = regexp.MustCompile(`&&|\band\b`)

// Parse reads an assertion. Its errors show the place and what may stand there.
func Parse(text string) (Assertion, error) {
	a := Assertion{text: strings.TrimSpace(text)}
	at := 0
	ends := append(and.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	for _, end := range ends {
		c, err := parse(text, at, text[at:end[0]])
		if err != nil {
			return Assertion{}, err
		}
		a.comparisons = append(a.comparisons, c)
		at = end[1]
	}
	return a, nil
}

// parse reads the comparison that begins at a place of the text.
func parse(text string, at int, part string) (c comparison, err error) {
	start := at + len(part) - len(strings.TrimLeft(part, " \t"))
	part = strings.TrimSpace(part)
	end := strings.IndexAny(part, "<>=! \t")
	if end < 0 {
		end = len(part)
	}
	c.text, c.name = part, part[:end]
	if c.metric, err = lookup(c.name); err != nil {
		return c, failed(text, start, err)
	}
	rest := strings.TrimLeft(part[end:], " \t")
	place := start + len(part) - len(rest)
	for _, operator := range operators {
		if strings.HasPrefix(rest, operator) {
			c.operator = operator
			break
		}
	}
	if c.operator == "" {
		return c, failed(text, place, fmt.Errorf("after %s write one of %s", c.name, strings.Join(operators, " ")))
	}
	number := strings.TrimSpace(rest[len(c.operator):])
	place = start + len(part) - len(number)
	if c.value, err = c.metric.parse(number); err != nil {
		return c, failed(text, place, err)
	}
	return c, nil
}

// failed is an error at a place of the text, counted from 1.
func failed(text string, at int, err error) error {
	return fmt.Errorf("%q, column %d: %w", text, at+1, err)
}
