package analysis

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/result"
)

// runOf is a run of one arm whose trials have the given latencies.
func runOf(t *testing.T, latencies ...float64) result.Document {
	t.Helper()
	arm := result.Arm{Name: "shared", Config: map[string]any{
		"load": map[string]any{"burst": 2000}, "workload": map[string]any{"greet": map[string]any{"delay": "10ms"}}, "route": "clusterip",
	}}
	for i, latency := range latencies {
		arm.Trials = append(arm.Trials, trial(t, i+1, latency, 1000, 1000))
	}
	other := arm
	other.Name = "only-here" // runs of one arm each would be compared whatever its name
	d := result.Document{ID: "one", Experiment: "mine", Cluster: "local", Arms: []result.Arm{arm, other},
		Machine: result.Machine{OS: "linux", Arch: "amd64", CPUs: 8, Model: "M", Kernel: "6.8", Go: "go1.26.0", Rpclab: "v1"}}
	d = Assemble(d)
	d.Arms = d.Arms[:1]
	return d
}

func gates(t *testing.T, texts ...string) (all []Gate) {
	t.Helper()
	for _, text := range texts {
		parsed, err := ParseGates(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parsed...)
	}
	return all
}

func ratioOf(t *testing.T, c result.Comparison, metric string) result.Ratio {
	t.Helper()
	for _, r := range c.Ratios {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("the comparison has no ratio of %s: %+v", metric, c)
	return result.Ratio{}
}

func TestEqualRunsAreEquivalent(t *testing.T) {
	c := Compare(runOf(t, 10, 10.1, 9.9, 10), runOf(t, 10.05, 10, 9.95, 10.1), CompareOptions{Gates: gates(t, "p50 ratio < 1.05", "client_cpu ratio < 1.05")})
	r := ratioOf(t, c, "latency_p50")
	if r.Decision != "equivalent" || math.Abs(r.Ratio-1.0025) > 0.001 || r.PRanks < 0.5 || r.Trials != [2]int{4, 4} || math.Abs(r.A-10) > 0.02 {
		t.Errorf("p50 is %+v, want equivalent: a ratio of 1.0025 over 4 trials each", r)
	}
	for _, g := range c.Gates {
		if g.Outcome != "held" {
			t.Errorf("the gate is %+v, want held", g)
		}
	}
	if len(c.Gates) != 2 || len(c.Differences)+len(c.Refused) > 0 {
		t.Errorf("the comparison is %+v, want 2 gates and no differences", c)
	}
}

// A refused call is cheap, so the CPU time of a call does not represent the calls that were answered.
func TestAGateOnCPUDoesNotHoldIfCallsAreRefused(t *testing.T) {
	a, b := runOf(t, 10, 10.1, 9.9, 10), runOf(t, 10, 10.1, 9.9, 10)
	for i := range b.Arms[0].Trials {
		b.Arms[0].Trials[i].Resources.Client.CPU /= 2
	}
	b.Arms[0].Errors = map[string]uint64{"UNAVAILABLE": b.Arms[0].Calls / 2}
	for _, g := range Compare(a, b, CompareOptions{Gates: gates(t, "client_cpu ratio < 1.05", "server_cpu ratio < 1.05")}).Gates {
		if g.Outcome != "not established" || !strings.Contains(g.Reason, "of the calls of shared failed") {
			t.Errorf("the gate is %+v, want it not established because calls failed", g)
		}
	}
}

func TestRunsAreComparedWithTheLargerMargin(t *testing.T) {
	for _, c := range []struct {
		a, b, margin float64
		decision     string
	}{{0, 0, 0, "worse"}, {0.15, 0, 0.15, "equivalent"}, {0.05, 0.15, 0.15, "equivalent"}, {0.01, 0, 0, "worse"}} {
		a, b := runOf(t, 10, 10, 10, 10.01), runOf(t, 11, 11, 11, 11.01)
		a.Margin, b.Margin = c.a, c.b
		compared := Compare(a, b, CompareOptions{})
		if r := ratioOf(t, compared, "latency_p50"); compared.Margin != c.margin || r.Decision != c.decision {
			t.Errorf("margins of %g and %g: %s within %g, want %s within %g", c.a, c.b, r.Decision, compared.Margin, c.decision, c.margin)
		}
	}
}

func TestARegressionFailsOnlyItsGate(t *testing.T) {
	c := Compare(runOf(t, 10, 10.1, 9.9, 10), runOf(t, 12, 12.1, 11.9, 12, 12), CompareOptions{Gates: gates(t, "p50 ratio < 1.05", "p50 ratio < 1.3", "p50 ratio < 1.2", "convergence ratio < 2")})
	if r := ratioOf(t, c, "latency_p50"); r.Decision != "worse" || math.Abs(r.Ratio-1.2) > 0.01 || r.Trials != [2]int{4, 5} {
		t.Errorf("p50 is %+v, want worse: a ratio of 1.2 over 4 and 5 trials", r)
	}
	var outcomes []string
	for _, g := range c.Gates {
		outcomes = append(outcomes, g.Outcome)
	}
	if diff := cmp.Diff([]string{"failed", "held", "not established", "not established"}, outcomes); diff != "" {
		t.Error(diff)
	}
	if why := c.Gates[2].Reason; !strings.HasPrefix(why, "the ratio may be on either side of 1.2") {
		t.Errorf("the reason is %q, want that the ratio may be on either side of 1.2", why)
	}
	if level := c.Gates[0].Level; math.Abs(level-(1-0.05/4)) > 1e-12 {
		t.Errorf("each of four gates has the level %g, want 0.9875", level)
	}
}

func TestUnreliableNumbersLeaveAGateOpen(t *testing.T) {
	for want, spoil := range map[string]func(*result.Document){
		"in B, the load generator was the bottleneck in shared: late": func(d *result.Document) { d.Arms[0].Limited = "late" },
		"in B, 5.0 % of the calls of shared failed or were dropped; those that were answered do not represent it": func(d *result.Document) {
			d.Arms[0].Errors["UNAVAILABLE"] = d.Arms[0].Calls / 20
		},
		"3 rounds in one of the runs; at least 4 are needed in both": func(d *result.Document) { d.Arms[0].Trials = d.Arms[0].Trials[:3] },
		"in B, 1 of 4 rounds of shared gave no measurement": func(d *result.Document) {
			d.Arms[0].Trials[1].Failed = "the server did not start"
		},
	} {
		b := runOf(t, 20, 20, 20.1, 20)
		spoil(&b)
		c := Compare(runOf(t, 10, 10.1, 9.9, 10), b, CompareOptions{Gates: gates(t, "p50 ratio < 1.05")})
		if g := c.Gates[0]; g.Outcome != "not established" || g.Reason != want {
			t.Errorf("the gate is %s: %q, want not established: %q", g.Outcome, g.Reason, want)
		}
		if r := ratioOf(t, c, "latency_p50"); r.Decision != "undecided" || r.Reason != want {
			t.Errorf("p50 is %s: %q, want undecided: %q", r.Decision, r.Reason, want)
		}
	}
}

// A run that loses calls fails a gate however fast its answers are, and never passes one.
func TestARunThatLosesCallsFailsItsGate(t *testing.T) {
	lossy, whole := runOf(t, 5, 5.1, 4.9, 5), runOf(t, 10, 10.1, 9.9, 10)
	for i := range lossy.Arms[0].Trials {
		x := &lossy.Arms[0].Trials[i]
		x.Errors = map[string]uint64{"DEADLINE_EXCEEDED": 3 * x.Calls}
		x.Calls *= 4
		if err := x.CountLost(30*time.Second, 0); err != nil {
			t.Fatal(err)
		}
	}
	lossy = Assemble(lossy)
	outcome := func(before, after result.Document, gate string) string {
		return Compare(before, after, CompareOptions{Gates: gates(t, gate)}).Gates[0].Outcome
	}
	for _, c := range []struct {
		before, after result.Document
		gate, want    string
	}{
		{whole, lossy, "p50 ratio < 1.05", "failed"},
		{whole, lossy, "p50 ratio < 100000", "not established"}, // the true ratio is over the measured one
		{whole, lossy, "p50 ratio > 1.05", "held"},
		{lossy, whole, "p50 ratio < 1.05", "held"},
		{lossy, whole, "p50 ratio > 0.00001", "not established"},
		{lossy, lossy, "p50 ratio < 1.05", "not established"},
	} {
		if got := outcome(c.before, c.after, c.gate); got != c.want {
			t.Errorf("%s from %v %% to %v %% lost calls: %s, want %s", c.gate, 100*c.before.Arms[0].Lost(), 100*c.after.Arms[0].Lost(), got, c.want)
		}
	}
}

func TestArmsWithOtherSettingsAreNotCompared(t *testing.T) {
	burst := func(d *result.Document) { d.Arms[0].Config["load"] = map[string]any{"burst": 500} }
	for name, c := range map[string]struct {
		change func(*result.Document)
		allow  string
		want   string
	}{
		"workload": {func(d *result.Document) {
			d.Arms[0].Config["workload"] = map[string]any{"greet": map[string]any{"delay": "12ms"}}
		}, "workload.greet.delay", "workload.greet.delay: 10ms in A, 12ms in B (--allow workload.greet.delay if that is what you compare)"},
		"load":       {burst, "load", "load.burst: 2000 in A, 500 in B (--allow load.burst if that is what you compare)"},
		"quick":      {func(d *result.Document) { d.Quick = true }, "quick", "quick: false in A, true in B (--allow quick if that is what you compare)"},
		"experiment": {func(d *result.Document) { d.Experiment = "yours" }, "experiment", "experiment: mine in A, yours in B (--allow experiment if that is what you compare)"},
		"name":       {func(d *result.Document) { d.Arms[0].Name = "pool"; d.Arms = append(d.Arms, d.Arms[0]) }, "", "only in A"},
	} {
		b := runOf(t, 10, 10, 10, 10)
		c.change(&b)
		got := Compare(runOf(t, 10, 10, 10, 10), b, CompareOptions{})
		if len(got.Ratios) > 0 || len(got.Refused) == 0 || got.Refused[0].Reason != c.want {
			t.Errorf("%s: refused are %+v, want the reason %q", name, got.Refused, c.want)
		}
		if err := Incomparable(got); !strings.Contains(err.Error(), "shared: "+c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, "shared: "+c.want)
		}
		if c.allow != "" && len(Compare(runOf(t, 10, 10, 10, 10), b, CompareOptions{Allow: []string{c.allow}}).Ratios) == 0 {
			t.Errorf("%s: the runs are not compared, although --allow names the difference", name)
		}
	}
	b := runOf(t, 10, 10, 10, 10)
	burst(&b)
	if got := Compare(runOf(t, 10, 10, 10, 10), b, CompareOptions{Allow: []string{"load.burs"}}); len(got.Ratios) > 0 {
		t.Error("--allow accepts a part of a name")
	}
}

// A run is compared with a file of it, which has no absolute paths. Two whole paths with the same last element differ.
func TestARunIsComparedWithAFileWithoutPaths(t *testing.T) {
	whole := runOf(t, 10, 10, 10, 10)
	whole.Arms = append(whole.Arms, whole.Arms[0])
	for i, dir := range []string{"/home/alice/v1/bin", "/home/alice/v2/bin"} {
		arm := &whole.Arms[i]
		arm.Cell = result.Cell{"caller.dir": dir}
		arm.Config = maps.Clone(arm.Config)
		arm.Config["workload"] = map[string]any{"ids": dir}
	}
	short := result.WithoutPaths(whole)
	for name, c := range map[string]struct {
		a, b    result.Document
		refused int
	}{
		"whole and short":   {whole, short, 0},
		"short and whole":   {short, whole, 0},
		"other paths":       {onlyArm(whole, 0), onlyArm(whole, 1), 2},
		"one of two":        {short, onlyArm(whole, 1), 2}, // nobody knows which
		"whole, one of two": {whole, onlyArm(whole, 1), 1},
	} {
		got := Compare(c.a, c.b, CompareOptions{})
		if len(got.Refused) != c.refused || len(got.Ratios) == 0 && c.refused == 0 || len(got.Differences) > 0 {
			t.Errorf("%s: refused are %+v, and the differences %+v; want %d and none", name, got.Refused, got.Differences, c.refused)
		}
	}
}

func onlyArm(d result.Document, i int) result.Document {
	d.Arms = d.Arms[i : i+1]
	return d
}

func TestOtherDifferencesAreListed(t *testing.T) {
	b := runOf(t, 10, 10, 10, 10)
	b.Seed, b.Machine.CPUs, b.Machine.Kernel, b.Machine.Rpclab = 7, 4, "6.9", ""
	b.Arms[0].Config["route"] = "headless"
	b.Arms[0].Config["generator"] = map[string]any{"ceiling": 1}
	want := []result.Difference{
		{Kind: "machine", What: "CPUs", A: "8", B: "4"},
		{Kind: "machine", What: "kernel", A: "6.8", B: "6.9"},
		{Kind: "version", What: "rpclab", A: "v1"},
		{Kind: "setting", What: "route", Arm: "shared", A: "clusterip", B: "headless"},
	}
	if diff := cmp.Diff(want, Compare(runOf(t, 10, 10, 10, 10), b, CompareOptions{}).Differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The machine that rpclab runs on is not measured in a run on Kubernetes.
func TestRunsOnKubernetesAreComparedByTheirNodes(t *testing.T) {
	on := func(version string, cpus, nodes int) result.Document {
		d := runOf(t, 10, 10, 10, 10)
		d.Cluster, d.Machine.Kubernetes, d.Machine.CPUs = "kubernetes", version, cpus
		for range nodes {
			d.Machine.Nodes = append(d.Machine.Nodes, result.Node{OS: "linux", Arch: "amd64", CPUs: 4, Memory: 16e9})
		}
		return d
	}
	want := []result.Difference{
		{Kind: "version", What: "Kubernetes", A: "v1.33.1", B: "v1.34.4"},
		{Kind: "machine", What: "nodes", A: "2 of 4 CPUs, 16 GB, linux/amd64", B: "3 of 4 CPUs, 16 GB, linux/amd64"},
	}
	if diff := cmp.Diff(want, Compare(on("v1.33.1", 8, 2), on("v1.34.4", 16, 3), CompareOptions{}).Differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The proxies of arms that are not compared do not matter.
func TestAnotherVersionOfAComparedProxyIsListed(t *testing.T) {
	a, b := runOf(t, 10, 10, 10, 10), runOf(t, 10, 10, 10, 10)
	a.Machine.Tools = map[string]string{"envoy": "1.40.0", "nginx": "1.26.3"}
	b.Machine.Tools = map[string]string{"envoy": "1.41.0", "nginx": "1.28.0"}
	a.Arms[0].Tool, b.Arms[0].Tool = "", "envoy" // an older run does not name it
	want := []result.Difference{{Kind: "version", What: "envoy", A: "1.40.0", B: "1.41.0"}}
	if diff := cmp.Diff(want, Compare(a, b, CompareOptions{}).Differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An image that only one run has is a setting of an arm.
func TestAnotherImageOfTheSameNameIsListed(t *testing.T) {
	a, b := runOf(t, 10, 10, 10, 10), runOf(t, 10, 10, 10, 10)
	a.Machine.Images = map[string][]string{"shop/orders:main": {"sha256:a"}, "shop/users:1": {"sha256:c"}, "shop/carts:1": {"sha256:d"}}
	b.Machine.Images = map[string][]string{"shop/orders:main": {"sha256:a", "sha256:b"}, "shop/users:1": {"sha256:c"}, "shop/carts:2": {"sha256:e"}}
	want := []result.Difference{{Kind: "version", What: "image shop/orders:main", A: "sha256:a", B: "sha256:a, sha256:b"}}
	if diff := cmp.Diff(want, Compare(a, b, CompareOptions{}).Differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadsOfTwoServersAreComparedWhateverTheirNames(t *testing.T) {
	a, b := runOf(t, 10), runOf(t, 20)
	b.Arms[0].Name = "127.0.0.1:2"
	of := Compare(a, b, CompareOptions{})
	want := []result.Refusal{{Arm: "shared", Reason: "only in A"}, {Arm: "127.0.0.1:2", Reason: "only in B"}}
	if diff := cmp.Diff(want, of.Refused); diff != "" || len(of.Ratios) > 0 {
		t.Errorf("the arms of an experiment are a pair whatever their names (-want +got):\n%s", diff)
	}
	a.Experiment, b.Experiment = "load", "load"
	r := ratioOf(t, Compare(a, b, CompareOptions{}), "latency_p50")
	if r.Arm != "shared / 127.0.0.1:2" || r.Decision != "undecided" || math.Abs(r.Ratio-2) > 0.01 {
		t.Errorf("p50 is %+v, want a ratio of 2, undecided", r)
	}
}

// The headline metrics of the experiment share the error of a comparison, and the others do not.
func TestRunsAreComparedOnTheHeadlineMetricsOfTheirExperiment(t *testing.T) {
	run := func(elapsed float64, lost uint64, headline ...string) result.Document {
		d := runOf(t, 10, 10, 10, 10, 10)
		d.Headline = headline
		for i := range d.Arms[0].Trials {
			x := &d.Arms[0].Trials[i]
			x.ElapsedMS, x.Errors = elapsed, map[string]uint64{"UNAVAILABLE": lost + uint64(i)}
		}
		return d
	}
	names := func(c result.Comparison) (all []string) {
		for _, r := range c.Ratios {
			if !r.Secondary {
				all = append(all, r.Metric)
			}
		}
		return all
	}
	c := Compare(run(100, 1, "elapsed", "failed"), run(120, 500, "elapsed", "failed"), CompareOptions{})
	if diff := cmp.Diff([]string{"elapsed", "failed"}, names(c)); diff != "" {
		t.Fatal(diff)
	}
	for metric, level := range map[string]float64{"elapsed": 0.975, "failed": 0.975, "latency_p50": 0.95} {
		if r := ratioOf(t, c, metric); math.Abs(r.Level-level) > 1e-9 || r.Secondary != (metric == "latency_p50") {
			t.Errorf("%s: %+v, want the level %g", metric, r, level)
		}
	}
	for _, metric := range []string{"elapsed", "failed"} {
		if r := ratioOf(t, c, metric); r.Decision != "worse" || r.Trials != [2]int{5, 5} {
			t.Errorf("%s is %+v, want worse", metric, r)
		}
	}
	if diff := cmp.Diff([]string{"latency_p50", "latency_p99"}, names(Compare(run(100, 1, "failed"), run(100, 1), CompareOptions{}))); diff != "" {
		t.Errorf("runs with different headlines: %s", diff)
	}
}

// A percentile of lost calls is a lower bound, and a time that did not end has no ratio.
func TestAComparisonMarksValuesThatAreNoPlainOnes(t *testing.T) {
	lossy := runOf(t, 5, 5.1, 4.9, 5)
	for i := range lossy.Arms[0].Trials {
		x := &lossy.Arms[0].Trials[i]
		x.Errors = map[string]uint64{"DEADLINE_EXCEEDED": x.Calls / 10}
		if err := x.CountLost(20*time.Second, 0); err != nil {
			t.Fatal(err)
		}
	}
	lossy = Assemble(lossy)
	c := Compare(lossy, lossy, CompareOptions{})
	if r := ratioOf(t, c, "latency_p99"); r.A != 20_000 || r.ABound != result.LowerValue || r.BBound != result.LowerValue {
		t.Errorf("p99 is %+v, want 20,000 ms as a lower bound on both sides", r)
	}
	if r := ratioOf(t, c, "latency_p50"); r.ABound != "" || r.BBound != "" {
		t.Errorf("the median is %+v, want plain values", r)
	}
	run := func(took *float64) result.Document {
		d := runOf(t, 10, 10, 10, 10, 10)
		d.Headline = []string{"followed"}
		for i := range d.Arms[0].Trials {
			d.Arms[0].Trials[i].Events = []result.Event{{What: "scale 5", Added: 2, Took: result.Took{FirstCall: took}}}
		}
		return d
	}
	c = Compare(run(new(250.0)), run(nil), CompareOptions{})
	if r := ratioOf(t, c, "followed"); r.A != 250 || r.ABound != "" || r.B != 0 || r.BBound != result.NeverEnded || r.Ratio != 0 || r.CI != [2]float64{} ||
		r.Bound != "" || r.Decision != "worse" {
		t.Errorf("followed is %+v, want 250 ms against never, without a ratio, worse", r)
	}
}
