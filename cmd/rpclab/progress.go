package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"rpclab/internal/lab"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// progressInterval is the time between two lines where lines cannot be overwritten.
const progressInterval = 5 * time.Second

// progressFlags say how much of its progress a command prints.
type progressFlags struct{ quiet, verbose bool }

func (f *progressFlags) register(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no progress and no hints, only the report, warnings and errors")
}

func (f *progressFlags) registerVerbose(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print a line for each trial that ended")
}

func (f progressFlags) check() error {
	if f.quiet && f.verbose {
		return errors.New("--quiet and --verbose exclude each other: use one of them")
	}
	return nil
}

// progress prints the progress of a run: one line that it overwrites on a terminal, or a new
// line every [progressInterval] elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	flags    progressFlags
	load     bool // of a load, which is not compared
	mu       sync.Mutex
	printed  time.Time
	waiting  string // the last text of wait
}

func newProgress(out io.Writer, flags progressFlags) *progress {
	file, ok := out.(*os.File)
	return &progress{out: out, flags: flags, terminal: ok && term.IsTerminal(int(file.Fd())), printed: time.Now()}
}

func (p *progress) show(now lab.Progress) {
	if p.flags.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flags.verbose && now.Ended != nil {
		p.clear()
		fmt.Fprintln(p.out, trialLine(now))
	}
	idle := now.Ended == nil && now.Doing == "" && now.Live == nil
	if !p.terminal && (idle || time.Since(p.printed) < progressInterval) {
		return
	}
	p.printed = time.Now()
	line := runLine(now)
	if p.load {
		line = loadLine(now)
	}
	if p.terminal {
		p.overwrite(line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// loadLine describes a load in progress.
func loadLine(now lab.Progress) string {
	line := fmt.Sprintf("%4.0f s", time.Since(now.Began).Seconds())
	if l := now.Live; l != nil {
		milliseconds := func(d time.Duration, digits int) string {
			if l.P99 == 0 { // no call was answered
				return "–"
			}
			return fmt.Sprintf("%.*g", digits, float64(d)/float64(time.Millisecond))
		}
		line = fmt.Sprintf("%4.0f s %8.0f/s  p50 %s ms  p99 %s ms  late %s ms  %d failed, %d open",
			l.Elapsed.Seconds(), l.Rate, milliseconds(l.P50, 3), milliseconds(l.P99, 3), milliseconds(l.Late, 2), l.Failed, l.InFlight)
	}
	if now.Planned > 1 {
		line = fmt.Sprintf("[%d/%d] ", now.Trial.Round, now.Planned) + line
	}
	if now.Doing != "" {
		line += "  " + now.Doing
	}
	return line
}

// runLine describes an experiment in progress.
func runLine(now lab.Progress) string {
	done := now.Trial.Order
	if now.Ended != nil {
		done++
	}
	// The remaining time comes first, because long lines are cut off at the end.
	line := fmt.Sprintf("[%d/%d", done, now.Planned)
	if now.Left > 0 {
		line += fmt.Sprintf(", %s left", now.Left.Round(time.Second))
	}
	line += fmt.Sprintf("] round %d  %s", now.Trial.Round, now.Trial.Arm)
	if cell := result.Cell(now.Trial.Cell); len(cell) > 0 {
		line += "  " + cell.String()
	}
	if now.Doing != "" {
		line += "  " + now.Doing
	}
	if now.Live != nil && now.Live.Elapsed > shortLoad {
		line += "  " + liveClause(*now.Live)
	}
	return line
}

// wait prints what the run waits for between trials.
func (p *progress) wait(what string) {
	if p.flags.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		p.overwrite(what)
		return
	}
	if since := time.Since(p.printed); since >= progressInterval || what != p.waiting && since >= progressInterval/5 {
		p.printed, p.waiting = time.Now(), what
		fmt.Fprintln(p.out, what)
	}
}

// note prints a line that stays.
func (p *progress) note(text string) {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}

// shortLoad is the time for which a load is not worth a line.
const shortLoad = 1500 * time.Millisecond

// liveClause describes the last second of a load: 480/s, p99 3.2 ms, 2 failed.
func liveClause(l lab.Live) string {
	text := fmt.Sprintf("%.0f/s", l.Rate)
	if l.P99 > 0 {
		text += ", p99 " + report.ThreeDigits(float64(l.P99)/float64(time.Millisecond)) + " ms"
	}
	if l.Failed > 0 {
		text += fmt.Sprintf(", %d failed", l.Failed)
	}
	return text + backendBars(l.Backends)
}

// backendBars draws one small bar per backend, in the order of their names, relative to the
// busiest. It is empty for one backend, and for more than fit in a line.
func backendBars(backends map[string]uint64) string {
	const bars, most = "▁▂▃▄▅▆▇█", 12
	if len(backends) < 2 || len(backends) > most {
		return ""
	}
	busiest := slices.Max(slices.Collect(maps.Values(backends)))
	text := "  "
	for _, id := range slices.Sorted(maps.Keys(backends)) {
		text += string([]rune(bars)[backends[id]*7/max(busiest, 1)])
	}
	return text
}

// trialLine describes a trial that ended.
func trialLine(now lab.Progress) string {
	t := now.Ended
	line := fmt.Sprintf("trial %d of %d: round %d, %s", now.Trial.Order+1, now.Planned, now.Trial.Round, now.Trial.Arm)
	if cell := result.Cell(now.Trial.Cell); len(cell) > 0 {
		line += ", " + cell.String()
	}
	if t.Failed != "" {
		return line + ": no measurement: " + printable(t.Failed) // it may contain text of a server
	}
	line += fmt.Sprintf(": %d calls, %d failed", t.Calls, t.Measures.Failed())
	if t.Dropped > 0 {
		line += fmt.Sprintf(", %d dropped", t.Dropped)
	}
	if t.Latency.Empty() {
		return line
	}
	return fmt.Sprintf("%s, p50 %s ms, p99 %s ms", line, threeDigits(t.Latency.Figure("p50")), threeDigits(t.Latency.Figure("p99")))
}

// threeDigits shows a figure, with > if it is only a lower bound.
func threeDigits(f result.Figure) string {
	bound := map[bool]string{true: ">"}[f.Lower]
	return bound + report.ThreeDigits(f.Value)
}

// end clears the line for the output that follows.
func (p *progress) end() {
	if !p.flags.quiet {
		p.clear()
	}
}

func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// overwrite replaces the last line. It cuts the new line at the width of the terminal, because
// a wrapped line cannot be overwritten.
func (p *progress) overwrite(line string) {
	fmt.Fprintf(p.out, "\r\x1b[K%.*s", p.width()-1, line)
}

// width is the width of the terminal, at most 80.
func (p *progress) width() int {
	if file, ok := p.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 1 {
			return min(width, 80)
		}
	}
	return 80
}
