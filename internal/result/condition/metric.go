package condition

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
	"rpclab/internal/suggest"
)

// metric is one figure of what was measured.
type metric struct {
	unit unit
	// of is the figure in its unit; false: there is none.
	of   func(result.Measures) (result.Figure, bool)
	lack string // why there is none then
}

// lookup returns the metric of a name such as p99, service_p99, rate or errors.UNAVAILABLE. With ownCodes every code of
// the right form is one.
func lookup(name string, ownCodes bool) (metric, bool) {
	switch name {
	case "rate": // of the successful calls: with those that fail at once, a server that answers nothing would be quick
		return always(frequency, result.Measures.Answered), true
	case "calls":
		return always(count, func(m result.Measures) float64 { return float64(m.Calls) }), true
	case "dropped":
		return always(count, func(m result.Measures) float64 { return float64(m.Dropped) }), true
	case "errors": // a call that was due and not sent is no success
		return always(count, func(m result.Measures) float64 { return float64(m.Failed() + m.Dropped) }), true
	}
	if code, ok := strings.CutPrefix(name, errorsOf); ok && (isErrorCode(code) || ownCodes && isOwnCode(code)) {
		return metric{unit: count, of: func(m result.Measures) (result.Figure, bool) {
			return result.Figure{Value: float64(m.Errors[code]), Lower: code != failure.OtherCodes && m.Errors[failure.OtherCodes] > 0}, true
		}}, true
	}
	return distribution(name)
}

const (
	errorsOf   = "errors."
	latencyOf  = "latency_"
	latenessOf = "lateness_"
	serviceOf  = "service_"
	messageOf  = "message_"
)

// errorCodes are the codes of errors: the status codes of gRPC first.
var errorCodes = []string{
	"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	"INVALID_RESPONSE", "CHECK", "CLIENT_EXITED", // rpclab's own
}

// otherError matches HTTP errors and the gRPC status codes that the specification does not define. The others have names:
// no call fails with CODE_5, so an assertion on it would hold.
var otherError = regexp.MustCompile(`^(HTTP_[45][0-9][0-9]|CODE_(1[7-9]|[2-9][0-9]|[1-9][0-9]{2,9}))$`)

// noError matches the HTTP statuses of successful calls, noStatus numbers that are no HTTP status, and namedCode the codes of
// gRPC by their numbers.
var (
	noError   = regexp.MustCompile(`^HTTP_[1-3][0-9][0-9]$`)
	noStatus  = regexp.MustCompile(`^HTTP_([0-9]|0[0-9]+|[6-9][0-9][0-9]|[0-9]{4,})$`)
	namedCode = regexp.MustCompile(`^CODE_([1-9]|1[0-6])$`)
)

// statusErrors are the codes of the HTTP statuses that have a name.
var statusErrors = func() (codes []string) {
	for status := range 600 {
		if http.StatusText(status) != "" {
			codes = append(codes, fmt.Sprint("HTTP_", status))
		}
	}
	return codes
}()

// isErrorCode reports whether calls can fail with the code.
func isErrorCode(code string) bool {
	return slices.Contains(errorCodes, code) || otherError.MatchString(code) || code == failure.OtherCodes
}

// ownCode matches the codes that a client of the user's can give, as internal/caller/own reads them.
var ownCode = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,39}$`)

// isOwnCode reports whether the code can be one of a client of the user's. A name that differs by one edit from a code of
// gRPC, HTTP or rpclab is taken for that code, misspelt: no call would have it, so an assertion on it would hold.
func isOwnCode(code string) bool {
	return ownCode.MatchString(code) && code != "OK" && (misspelt(code) == "" || noError.MatchString(code))
}

// misspelt returns the code of gRPC, HTTP or rpclab from which an unknown one differs by one edit, or "".
func misspelt(code string) string {
	return suggest.Misspelt(code, slices.Concat(errorCodes, statusErrors))
}

// always is a metric that every run has.
func always(u unit, of func(result.Measures) float64) metric {
	return metric{unit: u, of: func(m result.Measures) (result.Figure, bool) { return result.Figure{Value: of(m)}, true }}
}

// distribution is a metric such as p99, service_p99, lateness_p99 or message_p99.
func distribution(name string) (metric, bool) {
	of, lack := func(m result.Measures) result.Histogram { return m.Latency }, "no call was answered"
	if rest, ok := strings.CutPrefix(name, serviceOf); ok {
		name, of = rest, func(m result.Measures) result.Histogram { return withLost(m.Service, m) }
	} else if rest, ok := strings.CutPrefix(name, latenessOf); ok {
		name, of = rest, withDropped
	} else if rest, ok := strings.CutPrefix(name, messageOf); ok {
		name, of, lack = rest, messages, "no message came on a stream"
	}
	i := slices.Index(result.FigureNames[:], strings.TrimPrefix(name, latencyOf))
	if i < 0 {
		return metric{}, false
	}
	return metric{unit: duration, lack: lack, of: func(m result.Measures) (result.Figure, bool) {
		h := of(m)
		return h.Figures()[i], !h.Empty()
	}}, true
}

// withDropped is the lateness of all calls that were due. A call that was dropped was never sent, so it is later than every
// call that was sent.
func withDropped(m result.Measures) result.Histogram {
	counted, err := m.Lateness.CountLost(m.Dropped, 0)
	if err != nil { // only the summary is known
		counted = m.Lateness
		counted.Lost = float64(m.Dropped) / float64(due(m))
	}
	return counted
}

// due is how many calls were due: percentages are of them.
func due(m result.Measures) uint64 { return m.Calls + m.Dropped }

// messages is of the answers of streams.
func messages(m result.Measures) result.Histogram {
	if m.Messages == nil {
		return result.Histogram{}
	}
	return withLost(*m.Messages, m)
}

// withLost counts the lost calls in a distribution of the successful calls. They have no such time, and count as slower than
// all others: a percentile of theirs is a lower bound.
func withLost(answered result.Histogram, m result.Measures) result.Histogram {
	share := m.Latency.Lost
	if answered.Empty() || share == 0 {
		return answered
	}
	counted := answered
	if values, err := answered.Decode(); err == nil && share < 1 { // else only the summary is known, or every call was lost
		if all, err := answered.CountLost(m.Latency.LostOf(values.TotalCount()), 0); err == nil {
			counted = all
		}
	}
	counted.Lost = share
	return counted
}

// Metrics are the names of all that is measured, without those of single error codes.
func Metrics() []string {
	names := []string{"rate", "calls", "errors", "dropped"}
	for _, prefix := range []string{"", "service_", "lateness_", "message_"} {
		for _, name := range result.FigureNames {
			names = append(names, prefix+name)
		}
	}
	return names
}

func unknownMetric(name string, known []string, ownCodes bool) error {
	if name == "" {
		return fmt.Errorf("a metric is missing: write one of %s", strings.Join(known, ", "))
	}
	if code, ok := strings.CutPrefix(name, errorsOf); ok {
		codes := append(slices.Clip(errorCodes), "HTTP_404", failure.OtherCodes)
		meant, number := misspelt(code), namedCode.FindStringSubmatch(code)
		switch {
		case number != nil:
			n, _ := strconv.Atoi(number[1])
			codes = errorCodes[n-1 : n]
		case noError.MatchString(code):
			return fmt.Errorf("no error code %q: a response with that status is no error", code)
		case noStatus.MatchString(code):
			return fmt.Errorf("no error code %q: the statuses of HTTP are 100 to 599", code)
		case meant != "":
			codes = []string{meant}
		case ownCodes && suggest.Similar(code, codes) == "":
			return fmt.Errorf("no error code %q: write capital letters, digits and _, as the client does", code)
		}
		return fmt.Errorf("no error code %q%s", code, suggest.DidYouMean(code, codes))
	}
	return fmt.Errorf("no metric %q%s", name, suggest.DidYouMean(name, known))
}
