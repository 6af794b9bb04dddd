package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rpclab/internal/result"
)

func markdownOf(t *testing.T, d result.Document) string {
	t.Helper()
	var text bytes.Buffer
	if err := Markdown(&text, d); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestReportsListTheAssertions(t *testing.T) {
	d := channels()
	d.Assertions = []result.Assertion{
		{Assertion: "errors == 0", Arm: d.Arms[0].Name, Cell: d.Arms[0].Cell},
		{Assertion: "p99 < 1ms", Arm: "shared", Failures: []string{"p99 < 1ms: it is 527ms,\n527 times as much"}},
	}
	markdown := markdownOf(t, d)
	for _, want := range []string{"### Assertions", "- " + d.Arms[0].Name, ": `errors == 0` holds", "**shared: p99 &lt; 1ms: it is 527ms, 527 times as much**"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Index(markdown, "### Assertions") > strings.Index(markdown, "### Verdicts") {
		t.Error("the assertions are after the results")
	}
	if strings.Contains(markdownOf(t, channels()), "Assertions") {
		t.Error("a report without assertions has a section of them")
	}
}

// The head says which gates failed; the section has all gates.
func TestTheHeadOfAReportSaysWhichGatesFailed(t *testing.T) {
	d := channels()
	d.Conditions = result.ConditionsFailed
	d.Assertions = []result.Assertion{{Assertion: "p99 < 1ms", Arm: "shared", Failures: []string{"p99 < 1ms: it is 527ms"}}}
	d.Gates = &result.Gates{Against: "earlier-run", Undecided: "fail", Results: []result.GateResult{
		{Gate: "p50 ratio < 1.1", Arm: "shared", Ratio: 1.3, CI: [2]float64{1.2, 1.4}, Level: 0.95, Outcome: "failed"},
		{Gate: "p50 ratio < 1.1", Arm: "pool", Ratio: 1, CI: [2]float64{0.9, 1.05}, Level: 0.95, Outcome: "held"},
		{Gate: "p99 ratio < 1.1", Arm: "shared", Level: 0.95, Outcome: "not established", Reason: "too few calls"},
	}, Refused: []result.Refusal{{Arm: "headless", Reason: "only in B"}}}
	head := func(d result.Document) string {
		text, _, _ := strings.Cut(markdownOf(t, d), "local cluster") // the machine
		return text
	}
	failed := []string{
		"**Assertion failed: shared: p99 &lt; 1ms: it is 527ms.**",
		"**Gate failed: shared: `p50 ratio < 1.1`, the ratio is 1.30 (1.20–1.40).**",
		"**Gate not passed: shared: `p99 ratio < 1.1`, rpclab could not tell: too few calls.**",
		"**Gates not passed: headless is not compared: only in B.**",
	}
	for _, want := range failed {
		if !strings.Contains(head(d), want) {
			t.Errorf("the head lacks %q:\n%s", want, head(d))
		}
	}
	if strings.Contains(head(d), "pool: `") {
		t.Errorf("the head has a gate that passed:\n%s", head(d))
	}
	for _, want := range []string{"### Gates", "This run (B) is compared with run earlier-run (A).", "| pool | 1.00 | 0.90–1.05 | passed |", "### Not compared"} {
		if text := markdownOf(t, d); !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}

	lenient := d
	lenient.Gates = new(*d.Gates)
	lenient.Gates.Undecided = "pass"
	if text := head(lenient); !strings.Contains(text, failed[1]) || strings.Contains(text, failed[2]) || strings.Contains(text, failed[3]) {
		t.Errorf("with --undecided pass the head is\n%s", text)
	}
	accepted := d
	accepted.Conditions = result.ConditionsAccepted
	if text := head(accepted); strings.Contains(text, "**Gate") || !strings.Contains(text, "the run was accepted") || !strings.Contains(text, "<sub>Gate failed: shared") {
		t.Errorf("the head of an accepted run is\n%s", text)
	}
	passed := d
	passed.Conditions, passed.Assertions, passed.Gates = result.ConditionsPassed, nil, &result.Gates{Against: "baseline", Undecided: "fail", Results: d.Gates.Results[1:2]}
	if text := markdownOf(t, passed); strings.Contains(text, "failed:") || !strings.Contains(text, "Each arm (B) is compared with the baseline of this run (A).") {
		t.Errorf("the report of a run that passed is\n%s", text)
	}
	older := channels()
	older.Conditions = result.ConditionsFailed
	if text := head(older); !strings.Contains(text, "**An assertion or gate failed.**") {
		t.Errorf("the head of an older document is\n%s", text)
	}
	first := channels()
	first.Gates = &result.Gates{Undecided: "fail"}
	if text := markdownOf(t, first); !strings.Contains(text, "There was no earlier run to compare with.") {
		t.Errorf("the report of a first run is\n%s", text)
	}
	for range 10 {
		d.Assertions = append(d.Assertions, d.Assertions[0])
	}
	if text := head(d); strings.Count(text, "**Assertion failed") != mostFailures || !strings.Contains(text, fmt.Sprintf("**And %d more assertions and gates failed.**", 14-mostFailures)) {
		t.Errorf("the head of many failures is\n%s", text)
	}
}
