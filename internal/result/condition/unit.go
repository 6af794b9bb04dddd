package condition

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unit is what a metric is measured in.
type unit int

const (
	duration  unit = iota // ms
	frequency             // calls/s
	count                 // calls
	ratio                 // of two runs
)

// value is what a metric is compared with, in its unit.
type value struct {
	number  float64
	percent bool // of the calls that were due
}

// parse reads a value.
func (u unit) parse(text string) (value, error) {
	switch u {
	case duration:
		return parseDuration(text)
	case frequency:
		n, err := parseNumber(strings.TrimSuffix(text, "/s"))
		if err != nil {
			return value{}, fmt.Errorf("%q is not a number: write one such as 950 or 950/s", text)
		}
		if n < 0 {
			return value{}, fmt.Errorf("%q is below 0, which no rate is: write one such as 950 or 950/s", text)
		}
		return value{number: n}, nil
	case count:
		return parseCount(text)
	}
	n, err := parseNumber(text)
	if err != nil || n <= 0 {
		return value{}, fmt.Errorf("%q is not a ratio: write a number over 0 such as 1.05", text)
	}
	return value{number: n}, nil
}

// parseCount reads a number of calls, or a share of those that were due.
func parseCount(text string) (value, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := parseNumber(digits)
	switch {
	case err != nil:
		return value{}, fmt.Errorf("%q is not a number: write one such as 0 or 0.1%%", text)
	case n < 0:
		return value{}, fmt.Errorf("%q is below 0, which no number of calls is: write one such as 0 or 0.1%%", text)
	case percent && n > 100:
		return value{}, fmt.Errorf("%q is over 100 %%, all calls: write a share of the calls such as 0.1%%", text)
	case !percent && n != math.Trunc(n):
		return value{}, fmt.Errorf("%q is no whole number of calls: write one such as 5, or a share of the calls such as 5%%", text)
	}
	return value{number: n, percent: percent}, nil
}

func parseDuration(text string) (value, error) {
	d, err := time.ParseDuration(text)
	if _, bare := strconv.ParseFloat(text, 64); bare == nil && text != "0" {
		return value{}, fmt.Errorf("%q has no unit: write a duration such as 50ms or 1.5s", text)
	}
	if err != nil {
		return value{}, fmt.Errorf("%q is not a duration: write one such as 50ms or 1.5s", text)
	}
	if d < 0 {
		return value{}, fmt.Errorf("%q is below 0, which no duration is: write one such as 50ms or 1.5s", text)
	}
	return value{number: float64(d) / float64(time.Millisecond)}, nil
}

// parseNumber reads a finite number.
func parseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, strconv.ErrRange
	}
	return n, err
}

// show shows a measured value.
func (u unit) show(v float64) string {
	switch u {
	case duration:
		return time.Duration(v * float64(time.Millisecond)).Round(time.Microsecond).String()
	case frequency:
		return strconv.FormatFloat(v, 'f', 1, 64) + "/s"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
