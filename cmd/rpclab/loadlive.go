package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	generator "rpclab/internal/load"
)

// showLive says every second how the load goes: in a line that is overwritten on a
// terminal, and elsewhere in one every [quiet]. It ends when stop is called.
func showLive(out io.Writer, live *generator.Live) (stop func()) {
	file, ok := out.(*os.File)
	overwrite := ok && term.IsTerminal(int(file.Fd()))
	every := quiet
	if overwrite {
		every = time.Second
	}
	ended := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show(out, live, overwrite)
			case <-ended:
				if overwrite {
					fmt.Fprint(out, "\r\x1b[K")
				}
				return
			}
		}
	})
	return func() {
		close(ended)
		shown.Wait()
	}
}

func show(out io.Writer, live *generator.Live, overwrite bool) {
	m := live.Moment()
	line := fmt.Sprintf("%4.0f s %8.0f/s  p50 %.3g ms  p99 %.3g ms  late %.2g ms  %d failed, %d open",
		m.At.Seconds(), m.Rate, m.P50, m.P99, m.Late, m.Failed, m.Open)
	if m.Doing != "" {
		line = fmt.Sprintf("%4.0f s %s", m.At.Seconds(), m.Doing)
	}
	if overwrite {
		fmt.Fprintf(out, "\r\x1b[K%.79s", line)
		return
	}
	fmt.Fprintln(out, line)
}
