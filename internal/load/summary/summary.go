// Package summary prints the result of a load in 80 columns.
package summary

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rpclab/internal/load"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// Terminal writes the summary of a document, which must have one arm.
func Terminal(w io.Writer, document result.Document, color bool) error {
	out := page{bufio.NewWriter(w), color}
	if len(document.Arms) != 1 {
		return fmt.Errorf("the result of a load has one arm, not %d", len(document.Arms))
	}
	arm := document.Arms[0]
	head(out, document, arm)
	capacity(out, arm, measured(arm))
	if !measured(arm) {
		if arm.Capacity == nil {
			out.alarm("The load was not measured.")
		}
		warnings(out, document)
		return out.Flush()
	}
	total(out, document, arm)
	if err := histogram(out, arm.Measures); err != nil {
		return err
	}
	if err := percentiles(out, arm.Measures); err != nil {
		return err
	}
	byName(out, arm.ByName)
	rounds(out, arm.Trials)
	failures(out, arm)
	backends(out, arm.Backends)
	generator(out, arm)
	warnings(out, document)
	return out.Flush()
}

// page is a summary that is written.
type page struct {
	*bufio.Writer
	color bool
}

// title writes a paragraph as the title of a report has it.
func (p page) title(text string) { p.paint(text, report.Title) }

// alarm writes a paragraph as the alarms of a report are.
func (p page) alarm(text string) { p.paint(text, report.Alarm) }

func (p page) paint(text string, as func(line string, color bool) string) {
	var plain strings.Builder
	paragraph(&plain, text)
	for line := range strings.Lines(plain.String()) {
		fmt.Fprintln(p, as(strings.TrimSuffix(line, "\n"), p.color))
	}
}

// measured reports whether a round was measured. A server that does not start, for example, gives none.
func measured(arm result.Arm) bool {
	return arm.Calls+arm.Dropped > 0 || slices.ContainsFunc(arm.Trials, func(t result.Trial) bool { return t.Failed == "" })
}

// unmeasuredTrials is how many trials have no measurement.
func unmeasuredTrials(arm result.Arm) (n int) {
	for _, t := range arm.Trials {
		if t.Failed != "" {
			n++
		}
	}
	return n
}

// warnings prints the warnings that the head does not have.
func warnings(out page, document result.Document) {
	for _, warning := range document.Warnings {
		if !ofMachine(document, warning) {
			out.alarm(warning + ".")
		}
	}
}

// ofMachine reports whether a warning is about the machine. Then the head has it.
func ofMachine(document result.Document, warning string) bool {
	return slices.ContainsFunc(document.MachineWarnings, func(w result.MachineWarning) bool { return w.Text == warning })
}

func head(out page, document result.Document, arm result.Arm) {
	what, how, _ := strings.Cut(document.Question, ": ")
	out.title(what + " at " + arm.Name)
	paragraph(out, how)
	paragraph(out, report.Machine(document.Machine)+", "+document.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	for _, w := range document.MachineWarnings {
		out.alarm("Warning: " + Clean(w.Text) + ".")
	}
	if len(arm.Trials) > 0 && arm.Trials[0].WarmUp != nil && arm.Trials[0].WarmUp.Steady {
		paragraph(out, fmt.Sprintf("Rate and latency were steady after %.1f s of warm-up.", arm.Trials[0].WarmUp.TookMS/1e3))
	}
}

// total prints how many calls were made.
func total(out page, document result.Document, arm result.Arm) {
	made := len(arm.Trials) - unmeasuredTrials(arm)
	if document.Partial && document.Rounds > 1 {
		out.alarm(fmt.Sprintf("Partial: calls were made in %d of %d rounds.", made, document.Rounds))
	} else if document.Partial {
		out.alarm("Partial: an interrupt or an error ended the load.")
	}
	fmt.Fprintln(out)
	lost := arm.Failed()
	answered := ""
	if lost > 0 {
		answered = fmt.Sprintf(" (%s/s answered)", rate(arm.Answered()))
	}
	took, drain := fmt.Sprintf("%.4g s", arm.RateMS()/1e3), ""
	if arm.Window != nil {
		drain = fmt.Sprintf(", drain %.3g s", arm.Window.DrainMS/1e3)
	}
	switch n := len(arm.Trials); {
	case made < n:
		took = fmt.Sprintf("%d of %d rounds of %s", made, n, took)
	case n > 1:
		took = fmt.Sprintf("%d rounds of %s", n, took)
	}
	paragraph(out, fmt.Sprintf("%s in %s: %s calls/s%s, %s failed, %s dropped%s",
		calls(arm.Calls), took, rate(arm.Rate), answered, count(lost), count(arm.Dropped), drain))
	if arm.Limited != "" {
		out.alarm("The load generator was the bottleneck: " + arm.Limited + ". The target may be faster.")
	}
}

// percentiles prints the table of percentiles.
func percentiles(out io.Writer, measures result.Measures) error {
	if measures.Lateness.Empty() {
		return nil
	}
	fmt.Fprintf(out, "\n%-9s%8s %8s %8s %8s %8s %8s %8s %8s\n", "ms", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
	rows := []row{{"latency", measures.Latency}, {"service", measures.Service}, {"lateness", measures.Lateness}}
	if measures.Messages != nil {
		rows = append(rows, row{"messages", *measures.Messages})
	}
	for _, row := range rows {
		if row.values.Empty() {
			continue // no answered calls
		}
		fmt.Fprintf(out, "%-9s", row.name)
		for i, figure := range row.values.Figures() {
			fmt.Fprintf(out, "%*s", 8+min(i, 1), atLeast(figure))
		}
		fmt.Fprintln(out)
	}
	paragraph(out, "latency is counted from when a call was due, service from when it was sent;")
	paragraph(out, "lateness is the difference")
	if share := measures.Latency.Lost; share > 0 {
		paragraph(out, fmt.Sprintf("%.3g %% of the calls were lost; each counts as its deadline in latency (>), not in service", 100*share))
	}
	if measures.Messages != nil && !measures.Messages.Empty() {
		answers, err := measures.Messages.Decode()
		if err != nil {
			return err
		}
		paragraph(out, fmt.Sprintf("messages: %s responses, each counted from when its request was sent", count(uint64(answers.TotalCount()))))
	}
	return nil
}

// byName prints the figures of each call of a mix.
func byName(out io.Writer, all map[string]result.NamedCalls) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%-32s%9s %9s %9s %9s\n", "call", "calls", "lost", "p50 ms", "p99 ms")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		fmt.Fprintf(out, "%-32s%9s %9s %9s %9s\n", truncate(Clean(name), 31), count(c.Due), count(c.Due-c.Answered),
			figure(c.Latency, "p50"), figure(c.Latency, "p99"))
	}
}

// row is a row of the table of percentiles.
type row struct {
	name   string
	values result.Histogram
}

// maxRounds is how many rounds are listed.
const maxRounds = 20

// rounds prints how much the rounds differ.
func rounds(out io.Writer, trials []result.Trial) {
	if len(trials) < 2 {
		return
	}
	fmt.Fprintf(out, "\n%-9s%9s %9s %9s %9s\n", "round", "calls/s", "lost", "p50 ms", "p99 ms")
	for i, t := range trials {
		if i == maxRounds {
			item(out, fmt.Sprintf("and %d more", len(trials)-maxRounds))
			return
		}
		if t.Failed != "" {
			fmt.Fprintf(out, "%-9dno measurement\n", t.Round)
			continue
		}
		fmt.Fprintf(out, "%-9d%9s %9s %9s %9s\n", t.Round, rate(t.Answered()), count(t.Measures.Failed()+t.Dropped),
			figure(t.Latency, "p50"), figure(t.Latency, "p99"))
	}
}

func failures(out page, arm result.Arm) {
	if arm.Failed() == 0 {
		return
	}
	fmt.Fprintln(out)
	out.alarm("Errors")
	for _, code := range byCount(arm.Errors) {
		if arm.Errors[code] == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %s (%.3g %%)", Clean(code), count(arm.Errors[code]), 100*float64(arm.Errors[code])/float64(arm.Calls))
		item(out, text+report.Messages(arm, code))
	}
}

// maxBackends is how many backends are listed.
const maxBackends = 20

func backends(out io.Writer, counts map[string]uint64) {
	var all uint64
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return
	}
	fmt.Fprint(out, "\nBackends\n")
	for i, id := range byCount(counts) { // also those that answered none
		if i == maxBackends {
			item(out, fmt.Sprintf("and %d more", len(counts)-maxBackends))
			return
		}
		item(out, fmt.Sprintf("%s: %s (%.3g %%)", truncate(Clean(id), 50), calls(counts[id]), 100*float64(counts[id])/float64(all)))
	}
}

// byCount returns the keys, the one with the largest count first.
func byCount(counts map[string]uint64) []string {
	keys := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys
}

// Clean makes foreign text safe to print on one line of a terminal.
func Clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)), " ")
}

// generator prints the CPU time and memory of the load generator, and its own limits.
func generator(out io.Writer, arm result.Arm) {
	fmt.Fprint(out, "\nGenerator\n")
	cost := arm.Resources.Client
	item(out, fmt.Sprintf("%s µs CPU per call, at most %s MB of memory", report.ThreeDigits(cost.CPU), count(cost.RSS/1e6)))
	if a, ok := selfTestOf(arm.Config["generator"]); ok {
		SelfTest(out, a)
	}
}

// SelfTest prints the result of a self-test.
func SelfTest(out io.Writer, figures load.SelfTestResult) {
	switch {
	case figures.Unknown != "":
		item(out, "its limits are not known: "+figures.Unknown)
		return
	case figures.FloorP50 == 0:
		item(out, fmt.Sprintf("its limits are not known: the self-test (%s) got no response", generatorOf(figures)))
		return
	}
	ceiling, shared := "not known, because the load was faster than the self-test", ""
	switch {
	case figures.CeilingRate != nil && figures.Shared:
		ceiling, shared = "at least "+rate(*figures.CeilingRate)+" calls/s", ", while its test server used the same processors"
	case figures.CeilingRate != nil:
		ceiling = rate(*figures.CeilingRate) + " calls/s"
	case figures.CeilingCPU == 0:
		ceiling = "not known, because the self-test got no response"
	}
	if figures.CeilingCPU > 0 {
		ceiling += fmt.Sprintf(" (%s, %d calls in flight, %s µs CPU per call)", generatorOf(figures), figures.CeilingUsers, report.ThreeDigits(figures.CeilingCPU))
	}
	item(out, "its ceiling on this machine: "+ceiling+shared)
	micro := func(micros float64) string { return duration(micros / 1e3) }
	item(out, fmt.Sprintf("its floor: p50 %s, p99 %s (one call at a time); bare TCP with the same %d bytes sent and %d received: p50 %s, p99 %s",
		micro(figures.FloorP50), micro(figures.FloorP99), figures.SentBytes, figures.ReceivedBytes, micro(figures.PingP50), micro(figures.PingP99)))
}

// generatorOf says what a self-test measured: the engine, and what it used.
func generatorOf(figures load.SelfTestResult) string {
	text := figures.Engine
	if figures.TLS {
		text += " with TLS"
	}
	if figures.Cores > 1 {
		text += fmt.Sprintf(" on %d cores", figures.Cores)
	}
	if figures.Connections > 1 {
		text += fmt.Sprintf(", %d connections", figures.Connections)
	}
	return text
}

// selfTestOf decodes a self-test, also from a document read from JSON.
func selfTestOf(config any) (figures load.SelfTestResult, ok bool) {
	if config == nil {
		return figures, false
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	return figures, err == nil
}
