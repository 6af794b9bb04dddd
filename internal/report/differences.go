package report

import (
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// quantity is something that one call takes or does.
type quantity struct {
	name string
	read func(result.Arm) float64 // NaN: not known
}

// quantities may explain why the calls of one arm take longer than those of another.
var quantities = []quantity{
	{"p50 µs", func(a result.Arm) float64 {
		if f := a.Latency.Figure("p50"); !a.Latency.Empty() && !f.Lower {
			return 1000 * f.Value
		}
		return math.NaN()
	}},
	{"set-up µs", func(a result.Arm) float64 {
		if a.ConnectingMS == nil {
			return math.NaN()
		}
		return 1000 * *a.ConnectingMS
	}},
	{"client CPU µs", func(a result.Arm) float64 { return a.Resources.Client.CPU }},
	{"gateway CPU µs", func(a result.Arm) float64 { return a.Resources.Gateway.CPU }},
	{"proxy CPU µs", func(a result.Arm) float64 { return a.Resources.Proxy.CPU }},
	{"server CPU µs", func(a result.Arm) float64 {
		if a.Resources.Server == (result.Usage{}) { // not known
			return math.NaN()
		}
		return a.Resources.Server.CPU
	}},
	{"GC µs", jvm(func(j result.JVM) float64 { return j.Collecting })},
	{"JIT µs", jvm(func(j result.JVM) float64 { return j.Compiling })},
	{"connections", kernel(func(k result.Kernel) float64 { return k.Connections })},
	{"segments", kernel(func(k result.Kernel) float64 { return k.Segments })},
	{"bytes", kernel(func(k result.Kernel) float64 { return k.Bytes })},
	{"switches", kernel(func(k result.Kernel) float64 { return k.Switches })},
}

func kernel(read func(result.Kernel) float64) func(result.Arm) float64 {
	return func(a result.Arm) float64 {
		if a.Kernel == nil {
			return math.NaN()
		}
		return read(*a.Kernel)
	}
}

func jvm(read func(result.JVM) float64) func(result.Arm) float64 {
	return func(a result.Arm) float64 {
		if a.JVM == nil {
			return math.NaN()
		}
		return read(*a.JVM)
	}
}

// differences says, for each pair of arms with a decided difference, what one call takes and does more.
func differences(p *page, d result.Document) {
	t := table{columns: []column{{"arm", false}, {"against", false}}}
	for _, q := range quantities {
		t.columns = append(t.columns, column{q.name, true})
	}
	arms := d.ArmsByKey()
	type pair struct{ a, b, cell string }
	var seen []pair
	for _, v := range d.Verdicts {
		of := pair{v.A, v.B, v.Cell.Key()}
		if v.Secondary || !v.Kind.AnswersQuestion() || v.Decision != "better" && v.Decision != "worse" || slices.Contains(seen, of) {
			continue
		}
		seen = append(seen, of)
		a, knowsA := arms[result.ArmKey{Name: v.A, Cell: of.cell}]
		b, knowsB := arms[result.ArmKey{Name: v.B, Cell: of.cell}]
		counted := a.Kernel != nil && b.Kernel != nil || a.JVM != nil && b.JVM != nil || a.ConnectingMS != nil && b.ConnectingMS != nil
		if !knowsA || !knowsB || !counted || losesCalls(a) || losesCalls(b) {
			continue
		}
		row := []string{clean(a.Name) + at(a.Cell), clean(b.Name)}
		for _, q := range quantities {
			row = append(row, difference(q.read(a), q.read(b)))
		}
		if strings.Join(row[2:], "") != "" {
			t.rows = append(t.rows, row)
		}
	}
	if t = t.drop(); len(t.rows) == 0 {
		return
	}
	p.heading("Difference per call")
	p.grid(t)
	note := "For each decided difference: the figure of the arm minus that of the other, per call. Empty: within 2 %, or not known. "
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "p50 µs" }) {
		note += "p50: of the latency. "
	}
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "set-up µs" }) {
		note += "set-up: TCP and TLS handshakes of the connections that callers opened. "
	}
	if slices.ContainsFunc(t.columns, func(c column) bool { return strings.HasPrefix(c.name, "GC") || strings.HasPrefix(c.name, "JIT") }) {
		note += "GC and JIT: garbage collections, and compilations in threads of their own, of the Java virtual machines of servers and gateways, in elapsed time. "
	}
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "segments" }) {
		note += "The kernel counts TCP connections opened, TCP segments and bytes sent, and context switches, of this whole machine. "
	}
	p.note(note + "CPU times of several processors may pass at the same time, so their sum may exceed the latency.")
}

// losesCalls reports whether so many calls of an arm failed or were dropped that its means are those of other calls.
func losesCalls(a result.Arm) bool {
	const most = 0.01
	return float64(a.Failed()+a.Dropped) > most*float64(a.Calls+a.Dropped)
}

// difference is that of two figures with its sign; "": one is not known, or both are nearly equal.
func difference(a, b float64) string {
	const least = 0.02 // of the larger
	more := a - b
	if math.IsNaN(more) || math.Abs(more) <= least*max(math.Abs(a), math.Abs(b)) {
		return ""
	}
	text := signed(more)
	if strings.Trim(text, "−0.") == "" {
		return ""
	}
	if more > 0 {
		return "+" + text
	}
	return text
}
