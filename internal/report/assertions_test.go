package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestReportsListTheAssertions(t *testing.T) {
	d := channels()
	checks := []Check{
		{Assertion: "errors == 0", Arm: d.Arms[0].Name, Cell: d.Arms[0].Cell},
		{Assertion: "p99 < 1ms", Arm: "shared", Failures: []string{"p99 < 1ms: it is 527ms,\n527 times as much"}},
	}
	var markdown bytes.Buffer
	if err := Markdown(&markdown, d, checks...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"### Assertions", "- " + d.Arms[0].Name, ": `errors == 0` holds", "- **shared: p99 &lt; 1ms: it is 527ms, 527 times as much**"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Index(markdown.String(), "### Assertions") > strings.Index(markdown.String(), "### Verdicts") {
		t.Error("the assertions are after the results")
	}
	markdown.Reset()
	if err := Markdown(&markdown, d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(markdown.String(), "Assertions") {
		t.Error("a report without assertions has a section of them")
	}
}
