package report

import (
	"fmt"
	"io"

	"rpclab/internal/result"
)

// Compare writes two runs beside each other. They are not paired and were not made
// at the same time, so it gives ratios without an interval and no verdict; what it
// can say is where no trial of one run lies within the range of the other's.
func Compare(w io.Writer, a, b result.Document, o Options) error {
	var p page
	p.title(clean("Compare " + a.ID + " (A) with " + b.ID + " (B)"))
	for _, run := range []struct {
		name string
		d    result.Document
	}{{"A", a}, {"B", b}} {
		p.say(fmt.Sprintf("%s: %s, %s, %s", run.name, clean(run.d.Experiment), moment(run.d.Started), progress(run.d)))
	}
	if a.Experiment != b.Experiment {
		p.warn("These are different experiments: arms of the same name need not be the same.")
	}
	p.say("The runs are not paired and were made at different times: a ratio may be the machine as well as the arm. " +
		"To know, run both as arms of one experiment.")
	compareTimes(&p, a, b)
	missing(&p, a, b)
	differences(&p, a, b)
	return writeTerminal(w, p, o)
}

func compareTimes(p *page, a, b result.Document) {
	any := false
	for _, cell := range cells(a) {
		t := table{columns: []column{{"arm", false}, {"p50 A ms", true}, {"p50 B ms", true}, {"B/A", true},
			{"p99 A ms", true}, {"p99 B ms", true}, {"B/A", true}, {"apart", false}}}
		for _, left := range armsIn(a, cell) {
			right, ok := armOf(b, left.Name, cell)
			if !ok || left.Latency.Empty() || right.Latency.Empty() {
				continue
			}
			l, r := left.Latency, right.Latency
			t.rows = append(t.rows, []string{clean(left.Name), ms(l.P50), ms(r.P50), over(r.P50, l.P50),
				ms(l.P99), ms(r.P99), over(r.P99, l.P99), apartIn(left, right)})
		}
		if len(t.rows) == 0 {
			continue
		}
		any = true
		if name := cellName(cell); name != "" {
			p.heading(name)
		} else {
			p.heading("Latency")
		}
		p.grid(t)
	}
	if any {
		p.note("B/A: over 1 means that B took longer. apart: every trial of one run lies beyond every trial of the other " +
			"(2 trials or more on both sides).")
	} else {
		p.warn("The runs have no measured arm in common.")
	}
}

func armOf(d result.Document, name string, cell result.Cell) (result.Arm, bool) {
	for _, arm := range armsIn(d, cell) {
		if arm.Name == name {
			return arm, true
		}
	}
	return result.Arm{}, false
}

func over(b, a float64) string {
	if a == 0 {
		return none
	}
	return ratio(b / a)
}

// apartIn names the percentiles whose ranges over the trials do not meet.
func apartIn(a, b result.Arm) string {
	var out []string
	for _, q := range []struct {
		name string
		of   func(result.Histogram) float64
	}{
		{"p50", func(h result.Histogram) float64 { return h.P50 }},
		{"p99", func(h result.Histogram) float64 { return h.P99 }},
	} {
		lowA, highA, nA := rangeOf(a, q.of)
		lowB, highB, nB := rangeOf(b, q.of)
		if nA > 1 && nB > 1 && (highA < lowB || highB < lowA) {
			out = append(out, q.name)
		}
	}
	return and(out)
}

func rangeOf(a result.Arm, of func(result.Histogram) float64) (low, high float64, n int) {
	for _, t := range a.Trials {
		if t.Latency.Empty() {
			continue
		}
		v := of(t.Latency)
		if n == 0 {
			low, high = v, v
		}
		low, high, n = min(low, v), max(high, v), n+1
	}
	return low, high, n
}
