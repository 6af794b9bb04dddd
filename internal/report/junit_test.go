package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestJUnitMatchesItsSchema(t *testing.T) {
	single := samples()["single-round"]
	single.Arms[0].Name = "a<b> & \"c\"\x1b[31m"
	gated := single
	gated.Gates = &result.Gates{Undecided: "fail", Results: []result.GateResult{
		{Arm: "kuberesolver", Gate: "p50 ratio < 1.1", Outcome: "failed", Ratio: 1.3, CI: [2]float64{1.2, 1.4}},
		{Arm: "kuberesolver", Gate: "p99 ratio < 1.1", Reason: "1 round; at least 4 are needed"},
	}}
	single.Assertions = []result.Assertion{
		{Assertion: "p99 < 600ms && errors == 0", Arm: single.Arms[0].Name},
		{Assertion: "p99 < 1ms", Arm: "kuberesolver", Failures: []string{"p99 < 1ms: it is 527ms, 527 times as much", "a second\nline"}},
	}
	full := channels()
	for name, draw := range map[string]func(io.Writer) error{
		"single-round.xml":   func(w io.Writer) error { return JUnit(w, single) },
		"channels.xml":       func(w io.Writer) error { return JUnit(w, full) },
		"gated.xml":          func(w io.Writer) error { return JUnit(w, gated) },
		"compare.xml":        func(w io.Writer) error { return CompareJUnit(w, sampleComparison(), false) },
		"compare-strict.xml": func(w io.Writer) error { return CompareJUnit(w, sampleComparison(), true) },
		"empty.xml":          func(w io.Writer) error { return JUnit(w, result.Document{}) },
	} {
		var text bytes.Buffer
		if err := draw(&text); err != nil {
			t.Fatal(err)
		}
		isJUnit(t, name, text.Bytes())
		if name != "empty.xml" {
			testkit.Golden(t, name, text.String())
		}
	}
}

// element is any element of XML.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// forms are the elements of Ant's schema of JUnit reports: the attributes by name with a pattern for
// their values, all required except those after ?.
var forms = map[string]struct {
	attrs    map[string]string
	children string // a pattern for their joined names
}{
	"testsuites": {nil, `^(testsuite )*$`},
	"testsuite": {map[string]string{"name": token, "package": token, "id": whole, "timestamp": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`,
		"hostname": token, "tests": whole, "failures": whole, "errors": whole, "?skipped": whole, "time": decimal},
		`^properties (testcase )*system-out system-err $`},
	"properties": {nil, `^(property )*$`},
	"property":   {map[string]string{"name": token, "value": ``}, `^$`},
	"testcase":   {map[string]string{"name": token, "classname": token, "time": decimal}, `^((skipped|failure|error) )?$`},
	"error":      {map[string]string{"?message": ``, "type": ``}, `^$`},
	"failure":    {map[string]string{"?message": ``, "type": ``}, `^$`},
	"skipped":    {map[string]string{"?message": ``}, `^$`},
	"system-out": {nil, `^$`},
	"system-err": {nil, `^$`},
}

const (
	token   = `^\S+( \S+)*$`
	whole   = `^\d+$`
	decimal = `^\d+(\.\d+)?$`
)

// isJUnit checks a report against the schema, and its counts against its cases.
func isJUnit(t *testing.T, name string, text []byte) {
	t.Helper()
	var root element
	if err := xml.Unmarshal(text, &root); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if root.XMLName.Local != "testsuites" {
		t.Errorf("%s: the root element is %s, want testsuites", name, root.XMLName.Local)
	}
	var check func(e element)
	check = func(e element) {
		form, known := forms[e.XMLName.Local]
		if !known {
			t.Errorf("%s: the schema has no element %s", name, e.XMLName.Local)
			return
		}
		for _, a := range e.Attrs {
			_, must := form.attrs[a.Name.Local]
			if _, may := form.attrs["?"+a.Name.Local]; !must && !may {
				t.Errorf("%s: %s has the attribute %s, which is not in the schema", name, e.XMLName.Local, a.Name.Local)
			}
		}
		for attr, pattern := range form.attrs {
			bare, optional := strings.CutPrefix(attr, "?")
			value, has := e.attr(bare)
			if !has && !optional || has && !regexp.MustCompile(pattern).MatchString(value) {
				t.Errorf("%s: %s has %s=%q, want a value that matches %s", name, e.XMLName.Local, bare, value, pattern)
			}
		}
		children := ""
		for _, child := range e.Children {
			children += child.XMLName.Local + " "
			check(child)
		}
		if !regexp.MustCompile(form.children).MatchString(children) {
			t.Errorf("%s: the children of %s are %q, want a match of %s", name, e.XMLName.Local, children, form.children)
		}
	}
	check(root)
	for _, s := range root.Children {
		counts := map[string]int{}
		for _, c := range s.Children {
			if c.XMLName.Local == "testcase" {
				counts["tests"]++
				for _, outcome := range c.Children {
					counts[map[string]string{"error": "errors", "failure": "failures", "skipped": "skipped"}[outcome.XMLName.Local]]++
				}
			}
		}
		for _, of := range []string{"tests", "errors", "failures", "skipped"} {
			if value, _ := s.attr(of); value != strconv.Itoa(counts[of]) {
				t.Errorf("%s: %s=%s, want %d", name, of, value, counts[of])
			}
		}
	}
}

// The exit code of a load is 1 if no rate meets the condition of its search. JUnit then has no assertion and no gate.
func TestASearchThatNoRateMeetsFailsATestCase(t *testing.T) {
	d := result.Document{Experiment: "load", Conditions: result.ConditionsFailed, Arms: []result.Arm{{Name: "127.0.0.1:50051", Trials: []result.Trial{
		{Round: 1, Failed: "no rate was found", Capacity: &result.Capacity{SLO: "p99 < 1ms", End: "from fails"}},
	}}}}
	for conditions, want := range map[result.Conditions]string{result.ConditionsFailed: "Search failed: &#39;p99 &lt; 1ms&#39; holds at no rate.", result.ConditionsAccepted: ""} {
		d.Conditions = conditions
		var text bytes.Buffer
		if err := JUnit(&text, d); err != nil {
			t.Fatal(err)
		}
		isJUnit(t, "a search that "+string(conditions), text.Bytes())
		if failed := strings.Contains(text.String(), "<failure"); failed != (want != "") || !strings.Contains(text.String(), want) {
			t.Errorf("%s: JUnit has a failure: %v, want %q:\n%s", conditions, failed, want, text.String())
		}
	}
}

// The assertions of a run that ended early may all hold. It is no passed run.
func TestARunThatEndedEarlyHasAnError(t *testing.T) {
	d := result.Document{Experiment: "load", Rounds: 3, TrialCount: 3, Arms: []result.Arm{{Name: "a", Measures: result.Measures{Calls: 1}, Trials: []result.Trial{{Round: 1}}}},
		Assertions: []result.Assertion{{Arm: "a", Assertion: "p99 < 10s"}}}
	for _, partial := range []bool{false, true} {
		d.Partial = partial
		var text bytes.Buffer
		if err := JUnit(&text, d); err != nil {
			t.Fatal(err)
		}
		isJUnit(t, "a partial run", text.Bytes())
		if got := text.String(); strings.Contains(got, `errors="1"`) != partial || strings.Contains(got, "<error message=\"The run ended early") != partial ||
			strings.Contains(got, "1 of 3 trials") != partial {
			t.Errorf("partial: %t, the JUnit report is\n%s", partial, got)
		}
	}
}

// Without conditions, a run that measured nothing would have no test at all.
func TestARunThatMeasuredNothingHasAnError(t *testing.T) {
	d := result.Document{Experiment: "latency", Rounds: 1, TrialCount: 1, Arms: []result.Arm{{Name: "a", Trials: []result.Trial{{Round: 1, Failed: "warm-up: all 30 calls failed"}}}}}
	var text bytes.Buffer
	if err := JUnit(&text, d); err != nil {
		t.Fatal(err)
	}
	isJUnit(t, "a run without calls", text.Bytes())
	if got := text.String(); !strings.Contains(got, `errors="1"`) || !strings.Contains(got, "a gave no measurement: warm-up: all 30 calls failed") {
		t.Errorf("the JUnit report is\n%s", got)
	}
}

// A gate that rpclab cannot tell fails also in a cell of which a run has no figures.
func TestAGateOfACellWithoutRatiosFailsATestCase(t *testing.T) {
	c := result.Comparison{Gates: []result.GateResult{{Gate: "p50 ratio < 1.1", Arm: "one", Cell: result.Cell{"load.burst": 10.0}, Outcome: "not established", Reason: "1 of 4 rounds gave no measurement"}}}
	var text bytes.Buffer
	if err := CompareJUnit(&text, c, true); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "<failure") || !strings.Contains(got, "1 of 4 rounds gave no measurement") {
		t.Errorf("JUnit has no failure:\n%s", got)
	}
}

func TestAFailedGateFailsItsTestCase(t *testing.T) {
	outcomes := func(strict bool) (all []string) {
		var text bytes.Buffer
		if err := CompareJUnit(&text, sampleComparison(), strict); err != nil {
			t.Fatal(err)
		}
		var root element
		if err := xml.Unmarshal(text.Bytes(), &root); err != nil {
			t.Fatal(err)
		}
		for _, c := range root.Children[0].Children {
			if class, _ := c.attr("classname"); class != "channels.gates" {
				continue
			}
			outcome := "passed"
			if len(c.Children) > 0 {
				outcome = c.Children[0].XMLName.Local
			}
			all = append(all, outcome)
		}
		return all
	}
	if got := outcomes(false); !slices.Equal(got, []string{"passed", "failure", "skipped"}) {
		t.Errorf("the gates are %v, want passed, failure and skipped", got)
	}
	if got := outcomes(true); !slices.Equal(got, []string{"passed", "failure", "failure"}) {
		t.Errorf("with --undecided fail the gates are %v, want passed, failure and failure", got)
	}
}
