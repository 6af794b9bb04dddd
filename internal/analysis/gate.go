package analysis

import (
	"slices"
	"strings"

	"rpclab/internal/result/condition"
	"rpclab/internal/verdict"
)

// Gate is a condition on the ratio of a metric in a run to that in an earlier run:
// `p99 ratio < 1.05`.
type Gate struct {
	metric metric
	bound  verdict.Bound
	text   string
}

// String is the gate as the user wrote it.
func (g Gate) String() string { return g.text }

// GateMetrics are the metrics that a gate can name, in the order of metrics.
func GateMetrics() []string {
	var names []string
	for _, m := range metrics {
		names = append(names, strings.TrimPrefix(m.name, "latency_"))
	}
	return names
}

// ParseGates reads gates that are joined by "and" or "&&". Its errors name the column and what is
// allowed there.
func ParseGates(text string) (all []Gate, err error) {
	names := GateMetrics()
	ratios, err := condition.ParseRatios(text, names)
	if err != nil {
		return nil, err
	}
	for _, r := range ratios {
		all = append(all, Gate{metrics[slices.Index(names, r.Metric)], boundOf(r), r.String()})
	}
	return all, nil
}

func boundOf(r condition.Ratio) verdict.Bound {
	return verdict.Bound{
		Over:  r.Operator == condition.More || r.Operator == condition.AtLeast,
		Equal: r.Operator == condition.AtMost || r.Operator == condition.AtLeast,
		Limit: r.Limit,
	}
}

// lowerBounds says why an outcome does not follow from values that are only lower bounds. If run B lost the
// calls, the true ratio is over the measured ratio. If run A lost them, it is under.
func (g Gate) lowerBounds(p armPair, outcome verdict.Outcome) reason {
	decision := verdict.Better
	if held := outcome == verdict.Held; held == g.bound.Over {
		decision = verdict.Worse // the ratio is over the limit
	}
	return lowerBounds(g.metric, p.b, p.a, string(decision))
}
