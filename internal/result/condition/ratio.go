package condition

import (
	"fmt"
	"strings"
)

// Ratio is a condition on the ratio of a metric in one run to the same metric in an earlier run.
type Ratio struct {
	Metric   string // one of those that the parser was given
	Operator Operator
	Limit    float64 // over 0
	text     string
}

// String is the condition as the user wrote it.
func (r Ratio) String() string { return r.text }

// ParseRatios reads a condition on ratios of metrics, one Ratio for each comparison. The user can
// write "latency_" before the name of a latency.
func ParseRatios(text string, metrics []string) (all []Ratio, err error) {
	err = eachComparison(text, func(s *scanner) error {
		one, err := s.ratio(metrics)
		all = append(all, one)
		return err
	})
	return all, err
}

func (s *scanner) ratio(metrics []string) (r Ratio, err error) {
	r.text = trim(s.rest)
	name := s.word()
	if r.Metric, err = comparedMetric(name, metrics); err != nil {
		return r, s.failed(err)
	}
	if s.word() != ratioWord {
		return r, s.failed(fmt.Errorf("write ratio after %s: an example of a gate is '%s ratio < 1.05'", name, name))
	}
	if r.Operator, err = s.operator(ratioWord, ordering); err != nil {
		return r, err
	}
	v, err := s.value(ratio)
	r.Limit = v.number
	return r, err
}

func comparedMetric(name string, metrics []string) (string, error) {
	for _, m := range metrics {
		if _, latency := distribution(m); name == m || latency && name == latencyOf+m {
			return m, nil
		}
	}
	if _, measured := lookup(name, false); measured {
		return "", fmt.Errorf("runs are not compared on %s: write one of %s", name, strings.Join(metrics, ", "))
	}
	return "", unknownMetric(name, metrics, false)
}
