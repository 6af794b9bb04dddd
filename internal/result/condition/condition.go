// Package condition is the language of --assert, of the SLO of a search and of --gate:
// `p99 < 50ms`, `errors < 0.1% and rate >= 950/s`, `p99 ratio < 1.05`.
//
//	condition  = comparison { ( "&&" | "and" ) comparison }
//	comparison = metric [ "ratio" ] operator value
//	operator   = "<" | "<=" | ">" | ">=" | "==" | "!="
//	metric     = a latency: "min" | "mean" | "p50" | "p90" | "p95" | "p99" | "p999" | "max",
//	             the same after "latency_", "service_", "lateness_" or "message_",
//	             "rate" | "calls" | "errors" | "errors." CODE | "dropped"
//	value      = number unit: a duration for latencies (ns, us, ms, s, m), none or "/s" for
//	             the rate, none or "%" (of all calls) for counts
//
// The rate is that of the successful calls. A latency, service or message time has no upper limit where it would be
// that of a call that was lost. A lateness has none where it would be that of a call that was dropped: it was never sent.
//
// A condition with "ratio" compares two runs. It has a metric that runs are compared on, a value
// without a unit, and no "==" or "!=", which no confidence interval meets.
package condition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// Condition is a condition on what was measured.
type Condition struct {
	text        string
	comparisons []comparison
}

type comparison struct {
	metric   metric
	name     string
	operator Operator
	value    value
	text     string
}

// String is the condition as the user wrote it.
func (c Condition) String() string { return c.text }

// Parse reads a condition on what was measured. Its errors name the column and what is allowed
// there.
func Parse(text string) (Condition, error) { return parse(text, false) }

// ParseOwnCodes reads a condition on what a client of the user's measured, whose calls can fail with codes of its own.
func ParseOwnCodes(text string) (Condition, error) { return parse(text, true) }

func parse(text string, ownCodes bool) (Condition, error) {
	c := Condition{text: trim(text)}
	err := eachComparison(text, func(s *scanner) error {
		one, err := s.measured(ownCodes)
		c.comparisons = append(c.comparisons, one)
		return err
	})
	return c, err
}

// measured reads a comparison of what was measured.
func (s *scanner) measured(ownCodes bool) (c comparison, err error) {
	c.text, c.name = trim(s.rest), s.word()
	known := false
	if c.metric, known = lookup(c.name, ownCodes); !known {
		return c, s.failed(unknownMetric(c.name, Metrics(), ownCodes))
	}
	if ahead := *s; ahead.word() == ratioWord {
		return c, ahead.failed(fmt.Errorf("a ratio needs two arms or two runs: test it with --gate '%s'", c.text))
	}
	if c.operator, err = s.operator(c.name, operators); err != nil {
		return c, err
	}
	if c.value, err = s.value(c.metric.unit); err != nil {
		return c, err
	}
	return c, c.impossible(s)
}

// impossible returns the error of a comparison that no measured value meets.
func (c comparison) impossible(s *scanner) error {
	switch {
	case c.operator == Less && c.value.number == 0 && c.metric.unit == count:
		return s.failed(errors.New("no value is below 0: write == 0"))
	case c.operator == Less && c.value.number == 0:
		return s.failed(errors.New("no value is below 0: write a limit above 0"))
	case c.operator == More && c.value.percent && c.value.number == 100:
		return s.failed(errors.New("no share is over 100 %: write == 100%"))
	}
	return nil
}

// Check returns the comparisons that do not hold, each with the measured value and its distance
// from the limit; nil when all hold.
func (c Condition) Check(m result.Measures) (failures []string) {
	for _, one := range c.comparisons {
		if why := one.check(m); why != "" {
			failures = append(failures, why)
		}
	}
	return failures
}

// TooSlow returns the figures of the latency, as [result.FigureNames] has them, that are above their limits.
func (c Condition) TooSlow(m result.Measures) (figures []string) {
	for _, one := range c.comparisons {
		name := strings.TrimPrefix(one.name, latencyOf)
		upper := one.operator == Less || one.operator == AtMost
		if upper && slices.Contains(result.FigureNames[:], name) && one.check(m) != "" {
			figures = append(figures, name)
		}
	}
	return figures
}

// FailsByStatus reports whether a comparison of errors, or the upper limit of a percentile of the latency, fails by those calls
// alone that servers failed with a status. However late such a call was sent, it failed by its status.
func (c Condition) FailsByStatus(m result.Measures) bool {
	only := failedByStatus(m)
	percentiles := c.TooSlow(m)
	return slices.ContainsFunc(c.comparisons, func(one comparison) bool {
		ofErrors := one.name == "errors" || strings.HasPrefix(one.name, errorsOf)
		return ofErrors && one.check(m) != "" && one.check(only) != ""
	}) || slices.ContainsFunc(percentiles, func(name string) bool {
		return name[0] == 'p' && result.Histogram{Lost: only.Lost()}.Figure(name).Lower
	})
}

// failedByStatus are measures in which only the calls that servers failed with a status count as failed: neither those that
// were dropped, or that rpclab ended at a deadline or the end of a probe, nor those that failed at a limit of the client.
func failedByStatus(m result.Measures) result.Measures {
	only := result.Measures{Calls: m.Calls + m.Dropped, Errors: map[string]uint64{}}
	for code, calls := range m.Errors {
		for _, reason := range m.Reasons[code] {
			if failure.Limit(reason.Message) != "" {
				calls -= min(reason.Calls, calls)
			}
		}
		if !slices.Contains([]string{"DEADLINE_EXCEEDED", "CANCELLED", "CLIENT_EXITED", failure.OtherCodes}, code) {
			only.Errors[code] = calls
		}
	}
	return only
}

// check returns why the comparison does not hold; "": it holds.
func (c comparison) check(m result.Measures) string {
	got, known := c.metric.of(m)
	limit := c.value.number
	if c.value.percent {
		limit *= float64(due(m)) / 100
	}
	switch {
	case known && due(m) == 0 && c.name != "calls": // 0 errors of 0 calls are no success
		return c.text + ": nothing was measured"
	case !known:
		return fmt.Sprintf("%s: there is no %s, since %s", c.text, c.name, c.metric.lack)
	case got.Lower && !c.operator.holdsAbove(got.Value, limit):
		return fmt.Sprintf("%s: it is %s %s, since %s", c.text, c.above(), c.metric.unit.show(got.Value), c.without(m))
	case !got.Lower && !c.operator.holds(got.Value, limit):
		return fmt.Sprintf("%s: it is %s%s", c.text, c.shown(got.Value, m), distance(got.Value, limit))
	}
	return ""
}

// above precedes a lower bound.
func (c comparison) above() string {
	if strings.HasPrefix(c.name, errorsOf) {
		return "at least"
	}
	return "over"
}

// without says why a figure is only a lower bound.
func (c comparison) without(m result.Measures) string {
	switch {
	case strings.HasPrefix(c.name, latenessOf):
		return fmt.Sprintf("%.3g %% of the calls were dropped", 100*float64(m.Dropped)/float64(due(m)))
	case strings.HasPrefix(c.name, errorsOf):
		return fmt.Sprintf("%d calls failed with one of more than %d codes, and count as %s", m.Errors[failure.OtherCodes], failure.MaxCodes, failure.OtherCodes)
	}
	return fmt.Sprintf("%.3g %% of the calls were lost", 100*m.Lost())
}

func (c comparison) shown(got float64, m result.Measures) string {
	text := c.metric.unit.show(got)
	if all := due(m); c.value.percent && all > 0 {
		text += fmt.Sprintf(" of %d, %.3g %%", all, 100*got/float64(all))
	}
	if c.name == "rate" && m.Failed() > 0 {
		text += " of successful calls" // the report shows a higher rate, that of all calls
	}
	if ofAnswered := strings.HasPrefix(c.name, serviceOf) || strings.HasPrefix(c.name, messageOf); ofAnswered && m.Latency.Lost > 0 {
		text += " with lost calls as the slowest" // the report shows that of the successful calls
	}
	return text
}

// distance says how far the value is from the limit; "" if a share of the limit has no meaning.
func distance(got, limit float64) string {
	switch {
	case limit == 0 || got == limit:
		return ""
	case got > 1000*limit:
		return fmt.Sprintf(", %.0f times as much", got/limit)
	case got > 2*limit:
		return fmt.Sprintf(", %.3g times as much", got/limit)
	case got > limit:
		return fmt.Sprintf(", %.3g %% more", 100*(got/limit-1))
	}
	return fmt.Sprintf(", %.3g %% less", 100*(1-got/limit))
}
