package analysis

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/suggest"
	"rpclab/internal/verdict"
)

func TestGatesAreParsed(t *testing.T) {
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
		gates, err := ParseGates(text)
		if err != nil || len(gates) != 1 || gates[0].metric.name != want.metric || gates[0].bound != want.bound {
			t.Errorf("%q: the gates are %+v (error %v), want one on %s", text, gates, err, want.metric)
		}
	}
}

func TestGatesCanBeJoined(t *testing.T) {
	gates, err := ParseGates("p99 ratio < 1.05 and rate ratio > 0.95")
	if err != nil || len(gates) != 2 || gates[0].String() != "p99 ratio < 1.05" || gates[1].String() != "rate ratio > 0.95" ||
		gates[0].metric.name != "latency_p99" || gates[1].metric.name != "rate" {
		t.Errorf("the gates are %+v (error %v), want p99 ratio < 1.05 and rate ratio > 0.95", gates, err)
	}
}

func TestAGateThatCannotBeParsedNamesTheColumn(t *testing.T) {
	for text, want := range map[string]string{
		"p98 ratio < 1.05":          `"p98 ratio < 1.05", column 1: no metric "p98"; did you mean "p99"?`,
		"p99 < 1.05":                `"p99 < 1.05", column 5: write ratio after p99: an example of a gate is 'p99 ratio < 1.05'`,
		"p99 ratio == 1.05":         `"p99 ratio == 1.05", column 11: after ratio write one of < <= > >=`,
		"p99 ratio":                 `"p99 ratio", column 10: after ratio write one of < <= > >=`,
		"p99 ratio < 5%":            `"p99 ratio < 5%", column 13: "5%" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio < -1":            `"p99 ratio < -1", column 13: "-1" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio < inf":           `"p99 ratio < inf", column 13: "inf" is not a ratio: write a number over 0 such as 1.05`,
		"p99 ratio <":               `"p99 ratio <", column 12: "" is not a ratio: write a number over 0 such as 1.05`,
		"service_p99 ratio < 2":     `"service_p99 ratio < 2", column 1: runs are not compared on service_p99: write one of ` + strings.Join(GateMetrics(), ", "),
		"latency_rate ratio < 2":    `"latency_rate ratio < 2", column 1: no metric "latency_rate"` + suggest.DidYouMean("latency_rate", GateMetrics()),
		"p99 ratio < 2 and p50 < 1": `"p99 ratio < 2 and p50 < 1", column 23: write ratio after p50: an example of a gate is 'p50 ratio < 1.05'`,
		"p99 ratio < 1.05 x":        `"p99 ratio < 1.05 x", column 13: "1.05 x" is not a ratio: write a number over 0 such as 1.05`,
	} {
		if _, err := ParseGates(text); err == nil || err.Error() != want {
			t.Errorf("the error of %q is\n%v\nwant\n%s", text, err, want)
		}
	}
	if _, err := ParseGates(""); err == nil || !slices.Contains(GateMetrics(), "p99") {
		t.Errorf("the error of an empty gate is %v, and the metrics are %v", err, GateMetrics())
	}
}

// In repeatedRun the arm slow takes 1.25 times as long as the baseline, with noise if no control repeats that.
func TestGatesOnTheArmsOfARun(t *testing.T) {
	if all := GateArms(Assemble(repeatedRun(t)), gates(t, "p50 ratio < 1.5")); len(all) != 1 || all[0].Arm != "slow" || all[0].Outcome != string(verdict.Held) {
		t.Errorf("the gates are %+v, want one on slow that holds, and none on the control", all)
	}
	wrong := repeatedRun(t)
	wrong.Arms[2].Trials = wrong.Arms[0].Trials // the control is as slow as slow
	if all := GateArms(Assemble(wrong), gates(t, "p50 ratio < 9")); all[0].Outcome != string(verdict.Open) || !strings.Contains(all[0].Reason, "the control again") {
		t.Errorf("the gate is %+v, want it doubted because the control differs from the baseline", all[0])
	}
	d := repeatedRun(t)
	d.Arms = d.Arms[:2]
	d = Assemble(d)
	got := GateArms(d, gates(t, "p50 ratio < 1.5", "p50 ratio < 1.02", "p50 ratio < 1.25"))
	want := []verdict.Outcome{verdict.Held, verdict.Failed, verdict.Open}
	if len(got) != len(want) {
		t.Fatalf("the gates are %+v, want one result for each", got)
	}
	for i, g := range got {
		if g.Arm != "slow" || g.Outcome != string(want[i]) || (g.Reason == "") != (want[i] != verdict.Open) {
			t.Errorf("%s: %+v, want %s for slow", g.Gate, g, want[i])
		}
	}
	for i := range d.Arms {
		d.Arms[i].Trials[0].Blocks = d.Arms[i].Trials[0].Blocks[:3]
	}
	if few := GateArms(d, gates(t, "p50 ratio < 1.5")); few[0].Outcome != string(verdict.Open) || few[0].Reason == "" {
		t.Errorf("with three cycles the gate is %+v, want that rpclab cannot tell", few[0])
	}
}

// The second cell is measured after the first, and more rounds change nothing where the load generator is the bottleneck.
func TestGatesAreSettledCellByCell(t *testing.T) {
	d := repeatedRun(t)
	for _, arm := range d.Arms {
		d.Arms = append(d.Arms, result.Arm{Name: arm.Name, Control: arm.Control, Cell: result.Cell{"load.burst": 2}})
	}
	few, limited, memory := repeatedRun(t), repeatedRun(t), gates(t, "client_memory ratio < 9")
	few.Arms = few.Arms[:2]
	limited.Arms[0].Trials[0].Limited = "20 ms late"
	arms := []string{"slow", "base", "again"}
	for name, c := range map[string]struct {
		d     result.Document
		gates []Gate
		cell  result.Cell
		arms  []string
		want  bool
	}{
		"measured cell":       {d, gates(t, "p50 ratio < 1.5"), nil, arms, true},
		"cell without trials": {d, gates(t, "p50 ratio < 1.5"), result.Cell{"load.burst": 2}, arms, false},
		"all cells":           {d, gates(t, "p50 ratio < 1.5"), nil, nil, false},
		"wide interval":       {few, gates(t, "p50 ratio < 1.25"), nil, arms, false},
		"too few calls":       {repeatedRun(t), gates(t, "p999 ratio < 9"), nil, arms, false},
		"limited generator":   {limited, gates(t, "p50 ratio < 1.5"), nil, arms, true},
		"memory in turns":     {repeatedRun(t), memory, nil, arms, true},
	} {
		if got := GatesSettledIn(c.d, c.gates, c.cell, c.arms); got != c.want {
			t.Errorf("%s: settled is %v, want %v: %+v", name, got, c.want, GateArms(Assemble(c.d), c.gates))
		}
	}
}

// A load at an address starts no server, so the CPU time of servers is not known, and there is no search.
func TestAGateOnWhatIsNotKnownSaysSo(t *testing.T) {
	a, b := runOf(t, 10, 10, 10, 10), runOf(t, 10, 10, 10, 10)
	for _, d := range []*result.Document{&a, &b} {
		for i := range d.Arms {
			for j := range d.Arms[i].Trials {
				d.Arms[i].Trials[j].Resources = result.Resources{}
			}
		}
	}
	for text, want := range map[string]string{
		"server_cpu ratio < 1.2": "server_cpu of shared is not known in A and B", "capacity ratio > 0.9": "capacity of shared is not known in A and B",
		"p50 ratio < 1.2": "", "errors ratio < 1.5": "",
	} {
		gates, err := ParseGates(text)
		if err != nil {
			t.Fatal(err)
		}
		g := Compare(a, b, CompareOptions{Gates: gates}).Gates[0]
		if g.Reason != want {
			t.Errorf("%s: %s because of %q, want %q", text, g.Outcome, g.Reason, want)
		}
	}
	d := Assemble(repeatedRun(t)) // without resources
	for text, want := range map[string]string{"server_cpu ratio < 1.2": "server_cpu of slow and base is not known", "p50 ratio < 9": ""} {
		if g := GateArms(d, gates(t, text))[0]; g.Reason != want {
			t.Errorf("%s of the arms of a run: %s because of %q, want %q", text, g.Outcome, g.Reason, want)
		}
	}
}
