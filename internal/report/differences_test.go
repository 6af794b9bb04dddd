package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestWhatACallOfADecidedDifferenceTakesMore(t *testing.T) {
	arm := func(name string, p50, connecting, client, connections float64) result.Arm {
		a := result.Arm{Name: name}
		a.Latency.P50, a.Latency.HDR = p50, "not read"
		a.ConnectingMS, a.Kernel = &connecting, &result.Kernel{Connections: connections, Segments: 4 + 10*connections, Bytes: 1000, Switches: 10}
		a.Resources.Client.CPU, a.Resources.Server.CPU = client, 50
		return a
	}
	d := result.Document{Arms: []result.Arm{arm("new-channel", 2.5, 0.4, 300, 1), arm("shared", 0.5, 0, 100, 0), arm("other", 0.5, 0, 101, 0)}}
	d.Arms[2].Kernel = nil
	verdict := func(a, b, metric, decision string) result.Verdict {
		return result.Verdict{Kind: result.OfBaseline, A: a, B: b, Metric: metric, Decision: decision}
	}
	d.Verdicts = []result.Verdict{
		verdict("new-channel", "shared", "latency_p50", "worse"), verdict("new-channel", "shared", "latency_p99", "worse"),
		verdict("other", "shared", "latency_p50", "undecided"), verdict("other", "new-channel", "latency_p50", "better"),
	}
	var p page
	differences(&p, d)
	var out strings.Builder
	_ = writeMarkdown(&out, p)
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| arm | against | p50 µs | set-up µs | client CPU µs | connections | segments |", // the other figures are equal
		"| new-channel | shared | +2,000 | +400 | +200 | +1.0 | +10 |",
		"| other | new-channel | −2,000 | −400 | −199 | | |", // that kernel did not count
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("want %q once in\n%s", want, text)
		}
	}
	if strings.Contains(text, "other | shared") {
		t.Errorf("the arms do not differ:\n%s", text)
	}
	p = page{}
	d.Arms[0].Calls, d.Arms[0].Errors = 100, map[string]uint64{"UNAVAILABLE": 2}
	if differences(&p, d); len(p.blocks) > 0 {
		t.Errorf("new-channel lost calls, and the table compares it: %v", p.blocks)
	}
	p = page{}
	d.Verdicts = d.Verdicts[2:3]
	if differences(&p, d); len(p.blocks) > 0 {
		t.Errorf("a run without decided differences has %v", p.blocks)
	}
}

func TestWhatAJavaVirtualMachineTakesMore(t *testing.T) {
	java := func(name string, collecting, compiling float64) result.Arm {
		return result.Arm{Name: name, Measures: result.Measures{JVM: &result.JVM{Collecting: collecting, Compiling: compiling}}}
	}
	d := result.Document{
		Arms:     []result.Arm{java("webflux", 30, 400), java("blocking", 20, 100), {Name: "go"}},
		Verdicts: []result.Verdict{{Kind: result.OfBaseline, A: "webflux", B: "blocking", Decision: "worse"}, {Kind: result.OfBaseline, A: "go", B: "blocking", Decision: "better"}},
	}
	var p page
	differences(&p, d)
	var out strings.Builder
	_ = writeMarkdown(&out, p)
	text := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(text, "| arm | against | GC µs | JIT µs |") || !strings.Contains(text, "| webflux | blocking | +10 | +300 |") || !strings.Contains(text, "GC and JIT: ") {
		t.Errorf("%s", text)
	}
	if strings.Contains(text, "| go |") {
		t.Errorf("nothing is known of both arms:\n%s", text)
	}
}
