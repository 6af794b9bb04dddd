package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// quiet is how long a run may say nothing where lines cannot be overwritten.
const quiet = 5 * time.Second

// progress says where a run stands: one line that is overwritten on a terminal, one
// now and then elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	mu       sync.Mutex
	said     time.Time
	waits    string // what was said to be waited for, last
}

func newProgress(out io.Writer) *progress {
	file, ok := out.(*os.File)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(file.Fd())), said: time.Now()}
}

func (p *progress) show(now lab.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := now.Ended == nil && now.Doing == "" && now.Live == nil
	if !p.terminal && (idle || time.Since(p.said) < quiet) {
		return
	}
	p.said = time.Now()
	done := now.Trial.Order
	if now.Ended != nil {
		done++
	}
	// The remaining time comes first: what is too long for the line is cut off at its end.
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
	if now.Live != nil && now.Live.Elapsed > brief {
		line += "  " + liveClause(*now.Live)
	}
	if p.terminal {
		p.overwrite(line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// wait says what is being waited for besides trials.
func (p *progress) wait(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		p.overwrite(what)
		return
	}
	if since := time.Since(p.said); since >= quiet || what != p.waits && since >= quiet/5 {
		p.said, p.waits = time.Now(), what
		fmt.Fprintln(p.out, what)
	}
}

// brief is how long a load may take of which nothing is said.
const brief = 1500 * time.Millisecond

// liveClause says what the calls of a load did in the last second: 480/s, p99 3.2 ms, 2 failed.
func liveClause(l lab.Live) string {
	text := fmt.Sprintf("%.0f/s", l.Rate)
	if l.P99 > 0 {
		text += fmt.Sprintf(", p99 %.3g ms", float64(l.P99)/float64(time.Millisecond))
	}
	if l.Failed > 0 {
		text += fmt.Sprintf(", %d failed", l.Failed)
	}
	return text + sharesOf(l.Backends)
}

// sharesOf draws a small bar for the calls of each backend, in the order of their names:
// the highest for the busiest; nothing where there is one, or more than a line has room for.
func sharesOf(backends map[string]uint64) string {
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

// end makes room for what follows.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// overwrite writes the line in the place of the last, cut where the terminal ends: a line
// that goes on in the next cannot be overwritten.
func (p *progress) overwrite(line string) {
	fmt.Fprintf(p.out, "\r\x1b[K%.*s", p.width()-1, line)
}

// width is that of the terminal, 80 where it is not known.
func (p *progress) width() int {
	if file, ok := p.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 1 {
			return min(width, 80)
		}
	}
	return 80
}
