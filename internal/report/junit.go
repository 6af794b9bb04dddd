package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
)

// JUnit writes a run for a CI system: a test suite for each cell, with a test for each assertion, each gate and
// each headline verdict. A verdict never fails; an undecided one is skipped. A run that ended early or measured nothing has an error. The format is that of
// Ant's JUnit reports, the strictest that CI systems read.
func JUnit(w io.Writer, d result.Document) error {
	var suites []suite
	gates := result.Gates{}
	if d.Gates != nil {
		gates = *d.Gates
	}
	asserted, judged := map[string][]result.Assertion{}, map[string][]result.Verdict{} // by cell
	for _, c := range d.Assertions {
		asserted[c.Cell.Key()] = append(asserted[c.Cell.Key()], c)
	}
	for _, v := range d.Verdicts {
		judged[v.Cell.Key()] = append(judged[v.Cell.Key()], v)
	}
	for _, in := range d.ArmsByCell() {
		s := suiteOf(d.Experiment, in.Cell, d.Started, append(properties(d.Machine), property{"run", d.ID},
			property{"cluster", d.Cluster}, property{"rounds", fmt.Sprint(d.Rounds)}, property{"seed", fmt.Sprint(d.Seed)}))
		s.Time = seconds(in.All)
		for _, c := range asserted[in.Cell.Key()] {
			s.add(clean(d.Experiment)+".assertions", clean(c.Arm)+": "+clean(c.Assertion), strings.Join(c.Failures, "; "), "")
		}
		s.gates(d.Experiment, in.Cell, gates)
		for _, v := range judged[in.Cell.Key()] {
			if !v.Secondary {
				s.verdict(clean(d.Experiment)+".verdicts", v, ValuesOf(d, v))
			}
		}
		suites = append(suites, s)
	}
	suites = append(suites, refusedSuite(d.Experiment, d.Started, gates)...)
	end := suiteOf(d.Experiment+", end", nil, d.Started, nil)
	switch class := clean(d.Experiment) + ".end"; {
	case d.Partial: // assertions hold only for the part that was measured, and gates were not tested
		end.failed(class, "the run was complete", "The run ended early, or is in progress: "+progress(d)+". Assertions were checked on these trials alone, and gates were not tested.", "partial")
	case !measured(d) && !searched(d):
		end.failed(class, "a call was measured", Answer(d)+unmeasured(d), "not measured")
	}
	if end.Errors > 0 {
		suites = append(suites, end)
	}
	failed := func(s suite) bool { return s.Failures > 0 }
	if d.Conditions == result.ConditionsFailed && !slices.ContainsFunc(suites, failed) { // such as a search that no rate meets
		s := suiteOf(d.Experiment+", conditions", nil, d.Started, nil)
		s.add(clean(d.Experiment)+".conditions", "conditions", unnamedFailure(d), "")
		suites = append(suites, s)
	}
	return writeSuites(w, suites)
}

// CompareJUnit writes a comparison likewise, with a test for each gate on each arm. Gates that are
// undecided and arms that are not compared are skipped or, with undecidedFails, fail: it is false without gates.
func CompareJUnit(w io.Writer, c result.Comparison, undecidedFails bool) error {
	var suites []suite
	gates := result.Gates{Results: c.Gates, Refused: c.Refused}
	if undecidedFails {
		gates.Undecided = strict
	}
	cells := ratiosByCell(c)
	for _, g := range c.Gates { // of a cell in which nothing was measured, too
		if !slices.ContainsFunc(cells, func(in result.InCell[result.Ratio]) bool { return in.Cell.Key() == g.Cell.Key() }) {
			cells = append(cells, result.InCell[result.Ratio]{Cell: g.Cell})
		}
	}
	for _, in := range cells {
		s := suiteOf(c.B.Experiment, in.Cell, c.B.Started, append(properties(c.B.Machine), property{"run", c.B.ID}, property{"against", c.A.ID}))
		s.gates(c.B.Experiment, in.Cell, gates)
		for _, r := range in.All {
			if !r.Secondary {
				v := verdictOf(r)
				v.A, v.B = r.Arm+" in B", "A"
				s.verdict(clean(c.B.Experiment)+".comparison", v, valuesOfRuns(r))
			}
		}
		suites = append(suites, s)
	}
	return writeSuites(w, append(suites, refusedSuite(c.B.Experiment, c.B.Started, gates)...))
}

// refusedSuite has the arms that could not be compared, if there are any.
func refusedSuite(experiment string, started time.Time, gates result.Gates) []suite {
	if len(gates.Refused) == 0 {
		return nil
	}
	s := suiteOf(experiment+", not compared", nil, started, nil)
	for _, r := range gates.Refused {
		s.gate(clean(experiment)+".refused", clean(r.Arm)+at(r.Cell), "", r.Reason, gates.Undecided == strict)
	}
	return []suite{s}
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Package    string     `xml:"package,attr"`
	ID         int        `xml:"id,attr"`
	Timestamp  string     `xml:"timestamp,attr"` // UTC, without a zone
	Host       string     `xml:"hostname,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"` // seconds
	Properties []property `xml:"properties>property"`
	Cases      []testCase `xml:"testcase"`
	Out        string     `xml:"system-out"`
	Err        string     `xml:"system-err"`

	sentences []string // of Out
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// testCase has an error or a failure, is skipped, or passed.
type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Error   *message `xml:"error"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
}

type message struct {
	Text string `xml:"message,attr"`
	Type string `xml:"type,attr,omitempty"`
}

func suiteOf(experiment string, cell result.Cell, started time.Time, all []property) suite {
	return suite{
		Name: clean(experiment) + at(cell), Package: clean(experiment), Host: "localhost",
		Timestamp: started.UTC().Format("2006-01-02T15:04:05"), Time: "0", Properties: all,
	}
}

func (s *suite) add(class, name, failure, skipped string) {
	c := testCase{Name: name, Class: class, Time: "0"}
	s.Tests++
	switch {
	case failure != "":
		s.Failures++
		c.Failure = &message{clean(failure), "gate"}
	case skipped != "":
		s.Skipped++
		c.Skipped = &message{Text: clean(skipped)}
	}
	s.Cases = append(s.Cases, c)
}

// failed adds an error, which is no failure of a condition.
func (s *suite) failed(class, name, text, kind string) {
	s.Tests++
	s.Errors++
	s.Cases = append(s.Cases, testCase{Name: name, Class: class, Time: "0", Error: &message{text, kind}})
}

// gate adds a gate; an open one may fail.
func (s *suite) gate(class, name, failure, open string, fails bool) {
	if fails && failure == "" {
		failure = open
	}
	s.add(class, name, failure, open)
}

// gates adds the gates of a cell.
func (s *suite) gates(experiment string, cell result.Cell, gates result.Gates) {
	for _, g := range gates.Results {
		if g.Cell.Key() != cell.Key() {
			continue
		}
		failure, open := "", ""
		switch g.Outcome {
		case "held":
		case "failed":
			failure = "the ratio is " + ratio(g.Ratio) + " (" + interval(g.CI) + ")"
		default:
			open = "rpclab could not tell: " + g.Reason
		}
		s.gate(clean(experiment)+".gates", clean(g.Arm)+": "+clean(g.Gate), failure, open, gates.Undecided == strict)
	}
}

// verdict adds a verdict, with its sentence in the output of the suite. values are as in [sentenceOf].
func (s *suite) verdict(class string, v result.Verdict, values string) {
	skipped := ""
	if v.Decision == "undecided" {
		skipped = "undecided: " + v.Reason
	} else {
		s.sentences = append(s.sentences, sentenceOf(v, values)+"\n")
	}
	s.add(class, clean(v.A)+" against "+clean(v.B)+" "+metricName(v.Metric), "", skipped)
}

// properties are the known properties of the machine.
func properties(m result.Machine) (all []property) {
	cpus := ""
	if m.CPUs > 0 {
		cpus = fmt.Sprint(m.CPUs)
	}
	for _, p := range []property{
		{"system", strings.Trim(m.OS+"/"+m.Arch, "/")}, {"cpus", cpus}, {"cpu_model", m.Model},
		{"kernel", m.Kernel}, {"go", m.Go}, {"rpclab", m.Rpclab},
	} {
		if p.Value = clean(p.Value); p.Value != "" {
			all = append(all, p)
		}
	}
	return all
}

// seconds is the duration of the load of all trials.
func seconds(arms []result.Arm) string {
	var ms float64
	for _, arm := range arms {
		for _, t := range arm.Trials {
			ms += t.ElapsedMS
		}
	}
	return fmt.Sprintf("%.3f", ms/1e3)
}

func writeSuites(w io.Writer, suites []suite) error {
	for i := range suites {
		suites[i].ID, suites[i].Out = i, strings.Join(suites[i].sentences, "")
	}
	text, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}{Suites: suites}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
