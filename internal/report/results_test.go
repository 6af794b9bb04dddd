package report

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestTheLegendNamesTheCallsOfARequest(t *testing.T) {
	by := func(name string, iterations any) result.Arm {
		return result.Arm{Name: name, Config: map[string]any{"gateway": map[string]any{"iterations": iterations}}}
	}
	for want, arms := range map[string][]result.Arm{
		"": {{Name: "a"}},
		" A call here is a request to the gateway, which makes 30 gRPC calls.":       {by("a", 30), by("b", 30.0)},
		" A call here is a request to the gateway, which makes 30 or 60 gRPC calls.": {by("a", 30), by("a", 60)},
		" A call here is a request to the gateway, which makes 1 gRPC call.":         {by("a", 1)},
		" A call of a is a request to the gateway, which makes 30 gRPC calls.":       {by("a", 30), {Name: "b"}},
	} {
		if got := requests(result.Document{Arms: arms}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Calls that were late only at p99 leave the verdict on the median, and the report says so.
func TestAnArmThatIsLateAtP99HasNoVerdictOnlyThere(t *testing.T) {
	w := sampleArms()
	d := small(5, w[1], w[2])
	d.Arms[1].Limited = "rpclab sent calls up to 90.0 ms late (p99), at a latency of 527.0 ms"
	late := verdict("latency_p99", "kuberesolver", result.Cell{}, 1, .9, 1.1, "undecided", "baseline")
	late.Unfit, late.Reason = true, "the load generator was the bottleneck in kuberesolver"
	late.Cause = &result.Cause{Kind: result.CauseGenerator, Arm: "kuberesolver"}
	d.Verdicts = []result.Verdict{verdict("latency_p50", "kuberesolver", result.Cell{}, .5, .4, .6, "better", "baseline"), late}
	for _, full := range []bool{true, false} {
		var out strings.Builder
		if err := Terminal(&out, d, Options{Full: full}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, "no verdict at p99.") || strings.Contains(text, "has no verdict.") || strings.Contains(text, "no latency verdict") {
			t.Errorf("full %t: the report is\n%s\nwant no verdict at p99 only", full, out.String())
		}
	}
	d.Headline, d.Verdicts[1].Secondary = []string{"latency_p50"}, true
	for full, want := range map[bool]string{true: "The headline verdicts allow for that.", false: "kuberesolver 506.2"} {
		var out strings.Builder
		if err := Terminal(&out, d, Options{Full: full}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, want) || strings.Contains(text, "no latency verdict") || strings.Contains(text, "†") != full {
			t.Errorf("full %t: p99 is no headline, and the report is\n%s\nwant %q", full, out.String(), want)
		}
	}
	d.Headline, d.Verdicts[0].Secondary = []string{"failed"}, true
	d.Verdicts = append(d.Verdicts, verdict("failed", "kuberesolver", result.Cell{}, 1, .9, 1.1, "undecided", "baseline"))
	var out strings.Builder
	if err := Terminal(&out, d, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "so it has no verdict at p99.") {
		t.Errorf("no headline is a latency, and the report is\n%s\nwant no verdict at p99", out.String())
	}
}

func TestADrainIsShownInTheResultsIfItIsOverOnePercentOfTheWindow(t *testing.T) {
	w := sampleArms()
	d := small(4, w[1], w[2])
	d.Arms[0].Window = &result.Window{LengthMS: 10000, DrainMS: 99}
	d.Arms[1].Window = &result.Window{LengthMS: 10000, DrainMS: 17300}
	text := func() string {
		var out strings.Builder
		if err := Terminal(&out, d, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := text(); strings.Count(got, "17,300") != 1 || strings.Contains(got, "99.0") || !strings.Contains(got, "elapsed ms drain ms") || !strings.Contains(got, "drain: from the end of the time") {
		t.Errorf("the report does not show the drain of 17,300 ms alone:\n%s", got)
	}
	d.Arms[0].Trials = slices.Clone(d.Arms[0].Trials)
	d.Arms[0].Trials[0].Blocks = make([]result.Block, 2)
	if got := text(); !strings.Contains(got, "99.0") {
		t.Errorf("the report does not show the drain of 99 ms, of blocks of 5 s:\n%s", got)
	}
	d.Arms[0].Trials[0].Blocks = nil
	d.Arms[1].Window = nil
	if got := text(); strings.Contains(got, "drain") {
		t.Errorf("the report shows a drain under 1 %% of the window:\n%s", got)
	}
}
