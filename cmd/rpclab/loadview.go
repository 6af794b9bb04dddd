package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	generator "rpclab/internal/load"
	"rpclab/internal/result"
)

// loadView shows the progress of a load: every second in a line that it overwrites on a terminal, or every
// [progressInterval] in a new line elsewhere; and on the page and to Prometheus, if they are open.
type loadView struct {
	calls  *generator.Progress
	trials []experiment.Trial // one for each round
	show   func(lab.Progress)
	began  time.Time

	ended chan struct{}
	shown sync.WaitGroup
}

// newLoadView shows the load until end is called.
func newLoadView(out io.Writer, load *generator.Load, live pageFlags, view *liveView, stop context.CancelFunc) *loadView {
	v := &loadView{calls: generator.NewProgress(), began: time.Now(), ended: make(chan struct{})}
	plan := experiment.Plan{Name: generator.Experiment, Question: load.Question(), Rounds: load.Rounds(), Arms: []experiment.Arm{{Name: load.Name()}}}
	for round := range load.Rounds() {
		plan.Trials = append(plan.Trials, experiment.Trial{Order: round, Round: round + 1, Arm: load.Name()})
	}
	v.trials, v.show = plan.Trials, view.follow(plan, load.ID, stop)
	if live.visible() {
		v.calls.RecordEveryCall()
	}
	file, ok := out.(*os.File)
	overwrite := ok && term.IsTerminal(int(file.Fd()))
	v.shown.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		printed := v.began
		for {
			select {
			case now := <-tick.C:
				snapshot := v.calls.Snapshot()
				v.show(v.progress(snapshot))
				if overwrite || now.Sub(printed) >= progressInterval {
					printed = now
					printLoad(out, snapshot, overwrite)
				}
			case <-v.ended:
				if overwrite {
					fmt.Fprint(out, "\r\x1b[K")
				}
				return
			}
		}
	})
	return v
}

// progress returns what a run would show in place of the load.
func (v *loadView) progress(s generator.ProgressSnapshot) lab.Progress {
	p := lab.Progress{Trial: v.trials[max(s.Round, 1)-1], Planned: len(v.trials), Began: v.began, Doing: s.Phase}
	if s.Phase == "" && s.Round > 0 {
		milliseconds := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
		p.Live = &lab.Live{Elapsed: s.Elapsed, Rate: s.Rate, P50: milliseconds(s.P50), P99: milliseconds(s.P99), Failed: s.Failed, Errors: s.Errors, Latency: s.Latency}
	}
	return p
}

// end shows the trials of a load that has ended.
func (v *loadView) end(d result.Document) {
	close(v.ended)
	v.shown.Wait()
	for _, arm := range d.Arms {
		for i := range arm.Trials {
			v.show(lab.Progress{Trial: v.trials[i], Planned: len(v.trials), Began: v.began, Ended: &arm.Trials[i]})
		}
	}
}

func printLoad(out io.Writer, m generator.ProgressSnapshot, overwrite bool) {
	line := fmt.Sprintf("%4.0f s %8.0f/s  p50 %.3g ms  p99 %.3g ms  late %.2g ms  %d failed, %d open",
		m.Elapsed.Seconds(), m.Rate, m.P50, m.P99, m.LatenessP99, m.Failed, m.InFlight)
	if m.Rounds > 1 {
		line = fmt.Sprintf("[%d/%d] ", m.Round, m.Rounds) + line
	}
	if m.Phase != "" {
		line = fmt.Sprintf("%4.0f s %s", m.Elapsed.Seconds(), m.Phase)
	}
	if overwrite {
		fmt.Fprintf(out, "\r\x1b[K%.79s", line)
		return
	}
	fmt.Fprintln(out, line)
}
