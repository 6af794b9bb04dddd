package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// withProxy is a run of which one arm has a proxy, the other none.
func withProxy(v result.Verdict) result.Document {
	none := result.Arm{Name: "none"}
	none.Latency = latency(2, 4)
	sidecar := result.Arm{Name: "envoy-sidecar"}
	sidecar.Latency, sidecar.Resources.Proxy = latency(3, 5), result.Usage{CPU: 200, RSS: 50e6}
	v.Metric, v.A, v.B, v.Kind = "latency_p50", "envoy-sidecar", "none", "baseline"
	return result.Document{Baseline: "none", Arms: []result.Arm{none, sidecar}, Verdicts: []result.Verdict{v}}
}

func addedLatencyOf(d result.Document) string {
	var p page
	proxyLatency(&p, d)
	var out strings.Builder
	_ = writeMarkdown(&out, p)
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestTheLatencyThatAProxyAddsIsInMilliseconds(t *testing.T) {
	for _, c := range []struct {
		v    result.Verdict
		want string
	}{
		{result.Verdict{Ratio: 1.5, CI: [2]float64{1.4, 1.6}, Decision: "worse"}, "- envoy-sidecar adds 1.00 ms at the median (0.80 to 1.20)"},
		{result.Verdict{Ratio: 1000, CI: [2]float64{990, 1010}, Decision: "worse", Bound: result.LowerBound},
			"- envoy-sidecar adds at least 1,998 ms at the median ("},
		{result.Verdict{Ratio: 1.1, CI: [2]float64{0.9, 1.3}, Decision: "undecided"}, "- envoy-sidecar adds 0.20 ms at the median (-0.20 to 0.60), which may be chance"},
		{result.Verdict{Ratio: 1.5, Decision: "undecided", Reason: "1 round; at least 4 are needed"}, "- envoy-sidecar adds 1.00 ms at the median, without an interval: 1 round; at least 4 are needed"},
		{result.Verdict{Ratio: 1.5, CI: [2]float64{1.4, 1.6}, Decision: "undecided", Unfit: true, Reason: "none was limited"},
			"- envoy-sidecar: 3.00 ms at the median, 2.00 of none; no verdict"},
	} {
		if text := addedLatencyOf(withProxy(c.v)); !strings.Contains(text, c.want) {
			t.Errorf("the report does not contain %q:\n%s", c.want, text)
		}
	}
}

// The latency of a run with events includes their effects.
func TestTheLatencyThatAProxyAddsNeedsABaselineWithoutOne(t *testing.T) {
	v := result.Verdict{Ratio: 1.5, CI: [2]float64{1.4, 1.6}, Decision: "worse"}
	both, withEvents := withProxy(v), withProxy(v)
	both.Arms[0].Resources.Proxy = both.Arms[1].Resources.Proxy
	withEvents.Events = []result.Event{{Arm: "none", What: "kill 1"}}
	for _, d := range []result.Document{both, withEvents} {
		if text := addedLatencyOf(d); text != "" {
			t.Errorf("the report has an added latency, want none:\n%s", text)
		}
	}
}
