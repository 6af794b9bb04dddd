package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// ladderOf is a run of one arm of the ladder at 1,000 users, with changed settings. Older documents
// number the study.
func ladderOf(changed ...string) result.Document {
	return result.Document{
		Schema: result.Schema, Experiment: "ladder", Source: "study 5", Cluster: "local", Changed: changed, Rounds: 1, TrialCount: 1,
		Arms: []result.Arm{{
			Name: "blocking", Published: true, Config: map[string]any{"load": map[string]any{"closed": map[string]any{"users": 1000}}, "server": map[string]any{"cpus": 1.0, "replicas": 1}},
			Bound:    &result.Bound{Rate: 535.4, Binds: "threads", ServiceMS: 349.5, Threads: 200, Reached: 0.985},
			Measures: result.Measures{Calls: 9000, Rate: 527.4, Latency: result.Histogram{P50: 800, P95: 880.4, P99: 900, Max: 900}, Resources: result.Resources{Server: result.Usage{CPU: 1400, RSS: 270e6}}},
			Trials:   []result.Trial{{Round: 1, Limits: "cgroup v1"}},
		}},
		Published: []result.Published{
			{Arm: "blocking", Cell: result.Cell{"load.closed.users": 1000}, Rate: 529, P95: 890, RSS: 275},
			{Arm: "blocking", Cell: result.Cell{"load.closed.users": 2000}, Rate: 544, P95: 2648, RSS: 280},
		},
	}
}

func terminal(t *testing.T, d result.Document) string {
	t.Helper()
	var text strings.Builder
	if err := Terminal(&text, d, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// The tables of the studies of the ladder and of streams have these columns.
func TestCountsAndLatenciesOfTheStudiesAreInMarkdown(t *testing.T) {
	d := ladderOf("load.closed.users=1000")
	d.Published[0].Mean = 351.2
	d.Arms[0].Latency.Min, d.Arms[0].Latency.Mean, d.Arms[0].Latency.P90 = 201, 352, 470
	var text strings.Builder
	if err := Markdown(&text, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| arm | calls | min ms | mean ms | published ms | p50 ms | p90 ms | max ms |",
		`| blocking\* | 9,000 | 201.0 | 352.0 | 351.2 | 800.0 | 470.0 | 900.0 |`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not contain %q:\n%s", want, &text)
		}
	}
}

// --set may select one cell of the sweep.
func TestARateIsShownWithItsBoundAndPublishedFigures(t *testing.T) {
	text := terminal(t, ladderOf("load.closed.users=1000"))
	for _, want := range []string{
		"arm answered/s published/s bound reached limited by quota p95 ms", "blocking* 527 529 535 98 % threads 74 % 880.4",
		"arm published ms server MB published MB", "blocking* 890 270 275",
		"published: of a published comparison of REST on threads, REST on virtual threads and gRPC (docs/studies.md#ladder), measured on other hardware.",
		"The servers were limited by control groups (cgroup v1).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
	turns := ladderOf("load.closed.users=1000")
	turns.Arms[0].Trials[0].Blocks = make([]result.Block, 5)
	if text := terminal(t, turns); !strings.Contains(text, "blocking* 527 529 535 – threads 74 % 880.4") || !strings.Contains(text, "not known of arms in turns") {
		t.Errorf("the report has a share of the bound that is not known:\n%s", text)
	}
	if text := terminal(t, ladderOf("load.closed.users=1000", "load.closed.think=2s")); strings.Contains(text, "published ms") || !strings.Contains(text, "blocking* 527 535 98 % threads 74 % 880.4 270") {
		t.Errorf("with other settings than the study's the report compares with the study:\n%s", text)
	}
	d := ladderOf("load.closed.users=1500")
	d.Arms[0].Config = map[string]any{"load": map[string]any{"closed": map[string]any{"users": 1500}}}
	if text := terminal(t, d); strings.Contains(text, "890") {
		t.Errorf("in a cell that the study does not have the report shows the study's figures:\n%s", text)
	}
}

func TestPinnedServersAreNamed(t *testing.T) {
	d := ladderOf()
	d.Arms[0].Trials[0].Limits = "pinned"
	if text := terminal(t, d); !strings.Contains(text, "by pinning them to processors") {
		t.Errorf("the report does not say that servers were pinned:\n%s", text)
	}
}

// TestAnArmThatAnswersNoCallHasNoRate also covers short tables, which have the rate where it is a headline metric.
func TestAnArmThatAnswersNoCallHasNoRate(t *testing.T) {
	a := result.Arm{Measures: result.Measures{Calls: 10, Rate: 5, Errors: map[string]uint64{"DEADLINE_EXCEEDED": 10}}}
	if f, known := figureOf(a, "rate"); !known || f.Value != 0 {
		t.Errorf("the rate is %v, known %t; want 0", f, known)
	}
}
