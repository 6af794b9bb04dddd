package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/suggest"
)

// metric is one figure of a result.
type metric struct {
	kind kind
	// of is the figure, in ms for a time; false: there is none.
	of   func(result.Measures) (float64, bool)
	lack string // of what there is none then
}

type kind int

const (
	duration kind = iota
	frequency
	count
)

// value is what a metric is compared with: ms for a time, calls/s for a rate.
type value struct {
	number  float64
	percent bool // of all calls
}

// points are the figures of a distribution.
var points = []struct {
	name string
	of   func(result.Histogram) float64
}{
	{"min", func(h result.Histogram) float64 { return h.Min }},
	{"mean", func(h result.Histogram) float64 { return h.Mean }},
	{"p50", func(h result.Histogram) float64 { return h.P50 }},
	{"p90", func(h result.Histogram) float64 { return h.P90 }},
	{"p95", func(h result.Histogram) float64 { return h.P95 }},
	{"p99", func(h result.Histogram) float64 { return h.P99 }},
	{"p999", func(h result.Histogram) float64 { return h.P999 }},
	{"max", func(h result.Histogram) float64 { return h.Max }},
}

func lookup(name string) (metric, error) {
	switch {
	case name == "rate":
		return metric{kind: frequency, of: func(m result.Measures) (float64, bool) { return m.Rate, true }}, nil
	case name == "calls":
		return metric{kind: count, of: func(m result.Measures) (float64, bool) { return float64(m.Calls), true }}, nil
	case name == "dropped":
		return metric{kind: count, of: func(m result.Measures) (float64, bool) { return float64(m.Dropped), true }}, nil
	case name == "errors":
		return metric{kind: count, of: func(m result.Measures) (float64, bool) { return float64(failures(m)), true }}, nil
	case strings.HasPrefix(name, "errors.") && len(name) > len("errors."):
		code := name[len("errors."):]
		return metric{kind: count, of: func(m result.Measures) (float64, bool) { return float64(m.Errors[code]), true }}, nil
	}
	if m, ok := distribution(name); ok {
		return m, nil
	}
	if name == "" {
		return metric{}, fmt.Errorf("a metric is missing: write one of %s", strings.Join(Metrics(), ", "))
	}
	return metric{}, fmt.Errorf("no metric %q%s", name, suggest.DidYouMean(name, Metrics()))
}

// distribution is a metric such as p99, service_p99, lateness_p99 or message_p99.
func distribution(name string) (metric, bool) {
	of, lack := func(m result.Measures) result.Histogram { return m.Latency }, "no call was answered"
	if rest, ok := strings.CutPrefix(name, "service_"); ok {
		name, of = rest, func(m result.Measures) result.Histogram { return m.Service }
	} else if rest, ok := strings.CutPrefix(name, "lateness_"); ok {
		name, of = rest, func(m result.Measures) result.Histogram { return m.Lateness }
	} else if rest, ok := strings.CutPrefix(name, "message_"); ok {
		name, of, lack = rest, messages, "no message came on a stream"
	}
	for _, p := range points {
		if p.name == strings.TrimPrefix(name, "latency_") {
			return metric{kind: duration, lack: lack, of: func(m result.Measures) (float64, bool) {
				return p.of(of(m)), !of(m).Empty()
			}}, true
		}
	}
	return metric{}, false
}

// messages is of the answers of streams.
func messages(m result.Measures) result.Histogram {
	if m.Messages == nil {
		return result.Histogram{}
	}
	return *m.Messages
}

// Metrics are the names that an assertion can use, without those of single error codes.
func Metrics() []string {
	names := []string{"rate", "calls", "errors", "dropped"}
	for _, prefix := range []string{"", "service_", "lateness_", "message_"} {
		for _, p := range points {
			names = append(names, prefix+p.name)
		}
	}
	return names
}

// parse reads a value with the unit of the metric.
func (m metric) parse(text string) (value, error) {
	if m.kind == duration {
		d, err := time.ParseDuration(text)
		if _, bare := strconv.ParseFloat(text, 64); bare == nil && text != "0" {
			return value{}, fmt.Errorf("%q has no unit: write a duration such as 50ms or 1.5s", text)
		}
		if err != nil {
			return value{}, fmt.Errorf("%q is no duration: write one such as 50ms or 1.5s", text)
		}
		return value{number: float64(d) / float64(time.Millisecond)}, nil
	}
	unit, example := "%", "0 or 0.1%"
	if m.kind == frequency {
		unit, example = "/s", "950 or 950/s"
	}
	digits, hasUnit := strings.CutSuffix(text, unit)
	number, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || slices.Contains([]string{"inf", "nan"}, strings.Trim(strings.ToLower(digits), "+- ")) {
		return value{}, fmt.Errorf("%q is no number: write one such as %s", text, example)
	}
	return value{number: number, percent: hasUnit && unit == "%"}, nil
}

// whole is what a share is of: calls that were due.
func (m metric) whole(of result.Measures) uint64 { return of.Calls + of.Dropped }

func (m metric) show(v float64) string {
	switch m.kind {
	case duration:
		return time.Duration(v * float64(time.Millisecond)).Round(time.Microsecond).String()
	case frequency:
		return strconv.FormatFloat(v, 'f', 1, 64) + "/s"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func failures(m result.Measures) (n uint64) {
	for _, failed := range m.Errors {
		n += failed
	}
	return n
}
