package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result"
)

// A time that did not end in an arm has no ratio to one that did, and a share of lost calls none to no lost calls. The values
// say what the difference is.
func TestValuesStandForARatioThatSaysNothing(t *testing.T) {
	const end = 1.0142320547350045e304 // the largest ratio of a verdict
	arm := func(name string, median *float64, failed uint64) result.Arm {
		return result.Arm{Name: name, Measures: result.Measures{Calls: 2000, Rate: 500, Errors: map[string]uint64{"UNAVAILABLE": failed}},
			Followed: &result.FollowTime{Trials: 5, MedianMS: median}}
	}
	d := result.Document{Experiment: "churn", Headline: []string{"failed", "followed"}, Rounds: 5, Baseline: "shared",
		Arms: []result.Arm{arm("shared", nil, 0), arm("new-channel", new(148.0), 0), arm("direct", nil, 1280)}}
	followed := verdict("followed", "new-channel", nil, 1/end, 1/end, 1/end, "better", result.OfBaseline)
	followed.Bound = result.UpperBound
	failed := verdict("failed", "direct", nil, 2555, 2553, 2557, "worse", result.OfBaseline)
	failed.PRanks = 0.0079
	d.Verdicts = []result.Verdict{followed, failed}
	texts := map[string]string{}
	write := func(name string) {
		var text, xml bytes.Buffer
		if err := Markdown(&text, d); err != nil {
			t.Fatal(err)
		}
		if err := JUnit(&xml, d); err != nil {
			t.Fatal(err)
		}
		texts[name], texts[name+", JUnit"] = text.String(), xml.String()
		for _, c := range SectionsOf(d).Cards {
			for _, l := range c.Lines {
				texts[name+", cards"] += c.A + ": " + l.Ratio + "; " + l.Interval + "\n"
			}
		}
	}
	write("decided")
	for i := range d.Verdicts {
		d.Verdicts[i].Decision, d.Verdicts[i].Cause = "undecided", &result.Cause{Kind: result.CauseInterval}
	}
	write("undecided")
	const never, share = "148.0 ms against never", "64 % against none"
	for name, want := range map[string][]string{
		"decided":          {"new-channel calls new backends sooner than shared: " + never, "direct loses more calls than shared (p = 0.0079)"},
		"decided, JUnit":   {"new-channel calls new backends sooner than shared: " + never, "direct loses more calls than shared (p = 0.0079)"},
		"decided, cards":   {"new-channel: " + never + "; \n", "direct: " + share + "; \n"},
		"undecided":        {never},
		"undecided, cards": {"new-channel: " + never + "; \n", "direct: " + share + "; \n"},
	} {
		for _, text := range want {
			if !strings.Contains(texts[name], text) {
				t.Errorf("%s: the text lacks %q:\n%s", name, text, texts[name])
			}
		}
	}
	for name, text := range texts {
		for _, wrong := range []string{"999,999", "<0.001", "∞", "2,555", "e304", "e+304"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the text has %q:\n%s", name, wrong, text)
			}
		}
	}
	if got := interval([2]float64{0.5, end}); got != "0.50–∞" {
		t.Errorf("an interval without an upper bound is %q, want 0.50–∞", got)
	}
}

// The values of both runs show where a comparison has no ratio.
func TestAComparisonHasNoRatioThatSaysNothing(t *testing.T) {
	c := sides()
	lost := &result.Cause{Kind: result.CauseLostCalls, Share: 0.11}
	c.Ratios = []result.Ratio{
		{Metric: "latency_p99", Arm: "direct", A: 20_000, ABound: result.LowerValue, B: 20_000, BBound: result.LowerValue, Ratio: 1, CI: [2]float64{1, 1}, Level: 0.98, Decision: "undecided", Unfit: true, Reason: "calls were lost", Cause: lost},
		{Metric: "followed", Arm: "direct", A: 251.1, BBound: result.NeverEnded, Level: 0.98, PRanks: 0.002, Decision: "worse"},
		{Metric: "failed", Arm: "direct", A: 0, B: 0.64, Ratio: 2555, CI: [2]float64{2553, 2557}, Level: 0.98, PRanks: 0.75, Decision: "worse"},
	}
	var text, xml bytes.Buffer
	if err := CompareMarkdown(&text, c); err != nil {
		t.Fatal(err)
	}
	if err := CompareJUnit(&xml, c, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| &gt;20,000 | &gt;20,000 | – |", "| 251.1 | never | – |", "| none | 64 % | – |", "no verdict: calls were lost"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the comparison lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "1.00") || strings.Contains(text.String(), "2,55") {
		t.Errorf("the comparison has a ratio or an interval:\n%s", text.String())
	}
	for _, want := range []string{"direct in B calls new backends later than A: never against 251.1 ms", "direct in B loses more calls than A (p = 0.75)"} {
		if !strings.Contains(xml.String(), want) {
			t.Errorf("the JUnit report lacks %q:\n%s", want, xml.String())
		}
	}
}

// Tools that know no bounds count a lost call as its deadline, and not as the end of a bucket after it.
func TestOtherFormatsHaveTheDeadlineOfLostCalls(t *testing.T) {
	h := hdr.NewPacked(1, int64(time.Hour), 3)
	if err := h.RecordValues(int64(5*time.Millisecond), 9); err != nil {
		t.Fatal(err)
	}
	latency, err := result.FromHDR(h).CountLost(1, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	measures := result.Measures{Calls: 10, Rate: 1, Latency: latency}
	d := result.Document{Experiment: "load", Arms: []result.Arm{{Name: "a", Measures: measures, Trials: []result.Trial{{Round: 1, Measures: measures}}}}}
	var k6, benchstat bytes.Buffer
	if err := K6Summary(&k6, d); err != nil {
		t.Fatal(err)
	}
	if err := Benchstat(&benchstat, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k6.String(), `"p(99)": 20000,`) || !strings.Contains(benchstat.String(), " 20 p99-sec ") {
		t.Errorf("the files lack 20 s as p99:\n%s\n%s", k6.String(), benchstat.String())
	}
}
