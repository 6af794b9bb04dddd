package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/process"
)

// runTimeout is how long one run may take.
var runTimeout = 30 * time.Second

// usage is the resources and the result of one run.
type usage struct {
	outcome
	cpu, wall time.Duration
	peak      uint64 // bytes of resident memory
}

// use runs a command and, at the same time, meanwhile if it is not nil. It returns when both have ended.
func (g generator) use(c command, meanwhile func()) (usage, error) {
	if c.report != "" {
		_ = os.Remove(c.report) // of an earlier run
	}
	var stdout bytes.Buffer
	began := time.Now()
	p, err := process.Start(process.Spec{Args: c.args, Env: c.env, Stdout: &stdout})
	if err != nil {
		return usage{}, err
	}
	if meanwhile != nil {
		var other sync.WaitGroup
		other.Go(meanwhile)
		defer other.Wait()
	}
	got, late := usage{}, false
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		// The peak is read while the process lives; see process.CPU for why.
		if peak, err := measure.MaxRSS(p.Pid()); err == nil {
			got.peak = peak
		}
		select {
		case <-p.Done():
			running = false
		case <-tick.C:
			if late = time.Since(began) > runTimeout; late {
				p.Kill()
			}
		}
	}
	got.wall, got.cpu = time.Since(began), p.CPU()
	if late {
		return usage{}, fmt.Errorf("%s did not end within %s: use a quiet machine\n%s", g.Name, runTimeout, p.Log())
	}
	if p.Err() != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", g.Name, p.Err(), p.Log())
	}
	output := report{stdout: stdout.Bytes()}
	if c.report != "" {
		if output.file, err = os.ReadFile(c.report); err != nil {
			return usage{}, fmt.Errorf("%s wrote no report: %w", g.Name, err)
		}
	}
	if got.outcome, err = g.read(output); err != nil {
		return usage{}, fmt.Errorf("read the report of %s: %w", g.Name, err)
	}
	return got, nil
}
