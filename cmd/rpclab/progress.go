package main

import (
	"fmt"
	"io"
	"os"
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
	line := fmt.Sprintf("[%d/%d] round %d  %s", done, now.Planned, now.Trial.Round, now.Trial.Arm)
	if cell := result.Cell(now.Trial.Cell); len(cell) > 0 {
		line += "  " + cell.String()
	}
	if now.Doing != "" {
		line += "  " + now.Doing
	}
	if now.Live != nil && now.Live.Elapsed > brief {
		line += "  " + liveClause(*now.Live)
	}
	if left := remaining(now.Began, done, now.Planned); left > 0 {
		line += fmt.Sprintf("  about %s left", left)
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%.79s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// wait says what is being waited for besides trials.
func (p *progress) wait(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%.79s", what)
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
	return text
}

// end makes room for what follows.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// remaining guesses from the trials done how long the others will take.
func remaining(began time.Time, done, planned int) time.Duration {
	if done < 2 {
		return 0
	}
	return (time.Since(began) / time.Duration(done) * time.Duration(planned-done)).Round(time.Second)
}
