package report

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func samples() map[string]result.Document {
	w := sampleArms()
	partial := small(5, w[0], w[1])
	partial.Partial, partial.Quick = true, true
	partial.Changed = []string{"workload.greet.delay=100ms", "server.replicas=5"}
	partial.Published = []result.Published{{Arm: "shared", ElapsedMS: 522.6}}
	partial.Arms[0].Trials = partial.Arms[0].Trials[:2]
	partial.Arms[1].Trials = partial.Arms[1].Trials[:1]
	partial.Warnings = []string{"the run was interrupted in trial 4"}

	failing := small(5, w[0], w[1])
	failing.Arms[0].Errors = map[string]uint64{"UNAVAILABLE": 312, "DEADLINE_EXCEEDED": 41}
	failing.Arms[0].Samples = map[string]string{"UNAVAILABLE": "connection error: desc = \"transport: dial tcp 127.0.1.2:50051: socket: too many open files\"\x1b[31m"}
	failing.Arms[0].Dropped = 17
	failing.Arms[1].Trials[3] = result.Trial{Round: 4, Failed: "server greeter-2 did not start; its last log line: listen tcp 127.0.1.2:50051: bind: address already in use"}

	limited := small(5, w[1], w[2])
	limited.Arms[1].Limited = "lateness p99 is 41 ms, over 10 % of latency"
	limited.Verdicts = []result.Verdict{{Metric: "latency_p50", A: "kuberesolver", B: "shared", Ratio: 1, Level: 0.95, Decision: "undecided", Rounds: 5, Kind: "baseline", Unfit: true,
		CI: [2]float64{0.98, 1.03}, Reason: "the load generator was the bottleneck in kuberesolver: lateness p99 is 41 ms, over 10 % of latency"}}

	single := small(1, w[1], w[2], w[6])
	for _, name := range []string{"kuberesolver", "shared-again"} {
		v := verdict("latency_p50", name, nil, 0.998, 0.998, 0.998, "undecided", map[bool]result.VerdictKind{true: "control", false: "baseline"}[name == "shared-again"])
		v.Rounds, v.Reason, v.Cause = 1, "1 round; at least 4 are needed", &result.Cause{Kind: result.CauseRounds, Have: 1, Needed: 4}
		single.Verdicts = append(single.Verdicts, v)
	}

	fooled := small(5, w[1], w[6])
	fooled.Verdicts = []result.Verdict{verdict("latency_p99", "shared-again", nil, 1.31, 1.12, 1.55, "worse", "control")}

	empty := base("channels", "A channel per call, one shared, or one that watches the endpoints?")
	empty.Partial, empty.Finished, empty.TrialCount = true, nil, 35

	return map[string]result.Document{"channels": channels(), "churn": churn(), "policies": spreads(), "partial": partial, "failing": failing,
		"limited": limited, "single-round": single, "control-different": fooled, "empty": empty, "search": search(), "search-interrupted": broken()}
}

func TestReportsMatchTheirGoldenFiles(t *testing.T) {
	for name, d := range samples() {
		var short, terminal, markdown bytes.Buffer
		if err := errors.Join(Terminal(&short, d, Options{}), Terminal(&terminal, d, Options{Full: true})); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(&markdown, d); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, name+"-summary.txt", short.String())
		testkit.Golden(t, name+".txt", terminal.String())
		testkit.Golden(t, name+".md", markdown.String())
	}
}

// A summary has the question, the answer, and at most 12 lines that support it.
func TestASummaryIsShort(t *testing.T) {
	for name, d := range samples() {
		var text, head bytes.Buffer
		var p page
		opening(&p, d)
		if err := errors.Join(Terminal(&text, d, Options{}), writeTerminal(&head, p, Options{})); err != nil {
			t.Fatal(err)
		}
		rest, begins := strings.CutPrefix(text.String(), head.String())
		lines := slices.DeleteFunc(strings.Split(rest, "\n"), func(line string) bool { return line == "" })
		if !begins || len(lines) > 12 {
			t.Errorf("%s: %d lines after the answer, want at most 12:\n%s", name, len(lines), text.String())
		}
	}
}

// The lateness of calls does not matter to the question which calls are lost.
func TestASummaryOfEventsOnABusyMachineIsShort(t *testing.T) {
	d := churn()
	d.Headline, d.Quick, d.Warnings = []string{"failed", "followed"}, true, []string{"other programs used 79 % of the CPU time"}
	for _, name := range []string{"kuberesolver", "direct"} {
		arm := d.Arms[0]
		arm.Name = name
		d.Arms = append(d.Arms, arm)
	}
	for i := range d.Arms {
		d.Arms[i].Limited = "rpclab sent calls up to 51.1 ms late"
	}
	for i := range d.Events {
		if d.Events[i].What == "kill 1" {
			d.Events[i].What = "kill 1, scale 2" // the legend names both events of churn that remove backends
		}
	}
	var text bytes.Buffer
	if err := Terminal(&text, d, Options{}); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text.String(), "\n\n")
	lines := slices.DeleteFunc(strings.Split(rest, "\n"), func(line string) bool { return line == "" })
	if len(lines) > 12 || strings.Contains(text.String(), "bottleneck") {
		t.Errorf("%d lines after the answer, want at most 12 and nothing on latency:\n%s", len(lines), text.String())
	}
}

func TestTheListOfRunsMatchesItsGoldenFile(t *testing.T) {
	arms := []string{"new-channel", "shared"}
	rows := []result.RunSummary{
		{ID: "20261122-070000-aaaa", Experiment: "churn", Started: began.Add(36 * time.Hour), Status: result.Running, Trials: 3, Planned: 21, Arms: arms},
		{ID: "20261121-091500-b3qz", Experiment: "channels", Started: began.Add(14 * time.Hour), Status: result.Partial, Trials: 40, Planned: 140, Arms: arms},
		{ID: "20261120-201500-c9aa", Experiment: "a-very-long-name-for-an-experiment", Started: began.Add(90 * time.Minute), Status: result.Interrupted, Trials: 1, Planned: 140, Arms: arms},
		{ID: "20261120-190000-f00d", Experiment: "channels", Started: began.Add(15 * time.Minute), Status: result.Failed, Trials: 140, Planned: 140, Arms: arms},
		{ID: "20261120-184512-x7k2", Experiment: "channels", Started: began, Status: result.Done, Trials: 140, Planned: 140, Arms: arms},
	}
	for name, list := range map[string][]result.RunSummary{"runs": rows, "runs-none": nil} {
		var text bytes.Buffer
		if err := Runs(&text, list, 1_250_000); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, name+".txt", text.String())
		fits(t, name, text.String(), 80)
	}
}

func fits(t *testing.T, name, text string, width int) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%s, line %d has %d columns, want at most %d: %s", name, i+1, n, width, line)
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	all := samples()
	huge := channels()
	for i := range huge.Arms {
		a := &huge.Arms[i]
		a.Name = strings.Repeat("a-long-name-without-end-", 4) + a.Name
		a.Latency, a.ElapsedMS = latency(123_456_789_012, 987_654_321_098_765), 1e18
		a.Errors = map[string]uint64{"UNAVAILABLE": 1 << 62, strings.Repeat("X", 200): 1}
		a.Dropped = 1 << 60
	}
	huge.ID = strings.Repeat("9", 120)
	all["huge"] = huge
	for name, d := range all {
		for _, width := range []int{0, 40, 61, 80, 200} {
			var text bytes.Buffer
			if err := errors.Join(Terminal(&text, d, Options{Width: width}), Terminal(&text, d, Options{Width: width, Full: true})); err != nil {
				t.Fatal(err)
			}
			limit := width
			if width == 0 || width > 80 {
				limit = 80
			}
			fits(t, name, text.String(), limit)
		}
	}
}

func TestColourIsOptional(t *testing.T) {
	for name, d := range samples() {
		var without, with bytes.Buffer
		if err := Terminal(&without, d, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		if err := Terminal(&with, d, Options{Color: true, Full: true}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(without.String(), "\x1b") {
			t.Errorf("%s: without colour the text has control characters, want none", name)
		}
		bare := strings.NewReplacer(bold, "", dim, "", yellow, "", reset, "").Replace(with.String())
		if diff := cmp.Diff(without.String(), bare); diff != "" {
			t.Errorf("%s: the text differs with colour (-without +with):\n%s", name, diff)
		}
		if bare == with.String() {
			t.Errorf("%s: with colour the text has no control characters", name)
		}
	}
}
