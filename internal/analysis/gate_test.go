package analysis

import (
	"slices"
	"testing"

	"rpclab/internal/verdict"
)

func TestGatesAreRead(t *testing.T) {
	for text, want := range map[string]struct {
		metric string
		bound  verdict.Bound
	}{
		"p99 ratio < 1.05":            {"latency_p99", verdict.Bound{Limit: 1.05}},
		"  latency_p50  ratio<=1 ":    {"latency_p50", verdict.Bound{Limit: 1, Equal: true}},
		"rate ratio > 0.95":           {"rate", verdict.Bound{Limit: 0.95, Over: true}},
		"server_cpu ratio >=.5":       {"server_cpu", verdict.Bound{Limit: 0.5, Over: true, Equal: true}},
		"mean\tratio\t<\t1.1":         {"latency_mean", verdict.Bound{Limit: 1.1}},
		"client_memory ratio < 1.5e0": {"client_memory", verdict.Bound{Limit: 1.5}},
		"p999 ratio < 1.05 ":          {"latency_p999", verdict.Bound{Limit: 1.05}},
	} {
		g, err := ParseGate(text)
		if err != nil || g.metric.name != want.metric || g.bound != want.bound {
			t.Errorf("%q: %s %+v, %v", text, g.metric.name, g.bound, err)
		}
	}
}

func TestAGateThatCannotBeReadSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"p98 ratio < 1.05":   `"p98 ratio < 1.05", column 1: no metric "p98"; did you mean "p99"?`,
		"p99 < 1.05":         `"p99 < 1.05", column 5: write ratio after p99: an example of a gate is 'p99 ratio < 1.05'`,
		"p99 ratio == 1.05":  `"p99 ratio == 1.05", column 11: after ratio write one of < <= > >=`,
		"p99 ratio":          `"p99 ratio", column 10: after ratio write one of < <= > >=`,
		"p99 ratio < 5%":     `"p99 ratio < 5%", column 13: "5%" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio < -1":     `"p99 ratio < -1", column 13: "-1" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio < inf":    `"p99 ratio < inf", column 13: "inf" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio <":        `"p99 ratio <", column 12: "" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio < 1.05 x": `"p99 ratio < 1.05 x", column 13: "1.05 x" is not a ratio: write a number over 0 such as 1.05`,
	} {
		if _, err := ParseGate(text); err == nil || err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
	if _, err := ParseGate(""); err == nil || !slices.Contains(GateMetrics(), "p99") {
		t.Errorf("an empty gate: %v", err)
	}
}
