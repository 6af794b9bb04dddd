package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// secured is a run of arms that differ in their security, and one that differs in more.
func secured(v result.Verdict) result.Document {
	arm := func(name string, client, server float64, config map[string]any) result.Arm {
		a := result.Arm{Name: name, Config: config}
		a.Resources.Client.CPU, a.Resources.Server.CPU = client, server
		return a
	}
	d := result.Document{Arms: []result.Arm{
		arm("bare", 100, 50, map[string]any{"caller": map[string]any{"kind": "grpc-go"}, "server": map[string]any{"language": "go"}}),
		arm("mtls", 120, 60, map[string]any{"caller": map[string]any{"kind": "grpc-go"}, "server": map[string]any{"language": "go", "security": "mtls"}}),
		arm("wire", 10, 60, map[string]any{"caller": map[string]any{"kind": "wire"}, "server": map[string]any{"language": "go", "security": "mtls"}}),
	}}
	for _, a := range []string{"mtls", "wire"} {
		for _, metric := range []string{"client_cpu", "server_cpu"} {
			v.Metric, v.A, v.B = metric, a, "bare"
			d.Verdicts = append(d.Verdicts, v)
		}
	}
	return d
}

func TestTheCostOfSecurityNeedsArmsThatDifferInNothingElse(t *testing.T) {
	for _, c := range []struct {
		v    result.Verdict
		want string
	}{
		{result.Verdict{Ratio: 1.2, CI: [2]float64{1.15, 1.3}, Decision: "worse"}, "| mtls | mutual TLS | 20 (15 to 30) | 10.0 (7.5 to 15) |"},
		{result.Verdict{Ratio: 1.01, CI: [2]float64{0.98, 1.04}, Decision: "undecided"}, "| mtls | mutual TLS | 1.0 (−2.0 to 4.0) | 0.5 (−1.0 to 2.0) |"},
		{result.Verdict{Ratio: 1.2, Reason: "1 round; at least 4 are needed"}, "- without an interval: 1 round; at least 4 are needed"},
	} {
		var p page
		securityCost(&p, secured(c.v))
		var out strings.Builder
		_ = writeMarkdown(&out, p)
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, c.want) || strings.Contains(text, "wire") {
			t.Errorf("want %q, and nothing on the arm wire, in\n%s", c.want, text)
		}
	}
}
