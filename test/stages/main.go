//go:build unix

// Command stages runs all stages of make test, or the named stages and those that they need. It ends with a table of
// stages and their times. Stages that measure run one after another. Builds and installations run at the same time at a
// lower priority.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"rpclab/internal/suggest"
)

// outcome is the result of a stage.
type outcome struct {
	state     string // ok, failed, not run
	repeated  int    // tests that ran again: docs/decisions/0016-twice.md
	wall, cpu time.Duration
	done      chan struct{}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := stages(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// stages runs the stages and prints the table.
func stages(ctx context.Context) (ok bool, err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "rpclab-stages-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	// Tests may run the program as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return false, err
	}
	program := filepath.Join(dir, "rpclab")
	if err := os.Setenv("RPCLAB_TEST_PROGRAM", program); err != nil { // which package testkit reads
		return false, err
	}
	lanes, err := plan(program)
	if err != nil {
		return false, err
	}
	if lanes, err = chosen(lanes, os.Args[1:]); err != nil {
		return false, err
	}
	outcomes := map[string]*outcome{}
	for _, l := range lanes {
		for _, s := range l.stages {
			outcomes[s.name] = &outcome{state: "not run", done: make(chan struct{})}
		}
	}
	var running sync.WaitGroup
	for _, l := range lanes {
		running.Go(func() {
			for _, s := range l.stages {
				run(ctx, l, s, outcomes)
			}
		})
	}
	running.Wait()
	return table(os.Stdout, lanes, outcomes, time.Since(began)), nil
}

// chosen returns the lanes with the named stages and those that they need, or all without names.
func chosen(lanes []lane, names []string) ([]lane, error) {
	if len(names) == 0 {
		return lanes, nil
	}
	all, wanted := map[string]stage{}, map[string]bool{}
	for _, l := range lanes {
		for _, s := range l.stages {
			all[s.name] = s
		}
	}
	for ; len(names) > 0; names = names[1:] {
		s, known := all[names[0]]
		if !known {
			return nil, fmt.Errorf("no stage %q%s", names[0], suggest.DidYouMean(names[0], slices.Sorted(maps.Keys(all))))
		}
		wanted[s.name] = true
		names = append(names, s.needs...)
	}
	for i := range lanes {
		lanes[i].stages = slices.DeleteFunc(lanes[i].stages, func(s stage) bool { return !wanted[s.name] })
	}
	return lanes, nil
}

// run waits for what a stage needs and runs it.
func run(ctx context.Context, l lane, s stage, outcomes map[string]*outcome) {
	o := outcomes[s.name]
	defer close(o.done)
	for _, need := range s.needs {
		<-outcomes[need].done
		if outcomes[need].state != "ok" {
			return
		}
	}
	for _, earlier := range s.after {
		if o := outcomes[earlier]; o != nil { // it runs today
			<-o.done
		}
	}
	if ctx.Err() != nil {
		return
	}
	args := s.args
	if l.nice != "" {
		args = append([]string{"nice", "-n", l.nice}, args...)
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	// A stage is a process group, so an interrupt reaches all its processes.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = time.Minute
	var output bytes.Buffer
	command.Stdout = &output
	if l.live {
		fmt.Printf("== %s\n", s.name)
		command.Stdout = io.MultiWriter(os.Stdout, &output)
	}
	command.Stderr = command.Stdout
	began := time.Now()
	err := command.Run()
	o.wall = time.Since(began)
	if state := command.ProcessState; state != nil {
		o.cpu = state.UserTime() + state.SystemTime()
	}
	o.state, o.repeated = "ok", repeats(output.Bytes())
	if err != nil {
		o.state = "failed"
	}
	if !l.live {
		fmt.Printf("== %s: %s after %.0f s\n%s", s.name, o.state, o.wall.Seconds(), &output)
	}
	if err != nil {
		fmt.Printf("== %s failed: %v\n", s.name, err)
	}
}

var ran = regexp.MustCompile(`(?m)^DONE (\d+) runs, `)

// repeats returns the number of tests that gotestsum ran again.
func repeats(output []byte) (n int) {
	for _, runs := range ran.FindAllSubmatch(output, -1) {
		var count int
		_, _ = fmt.Sscan(string(runs[1]), &count) // digits
		n += count - 1
	}
	return n
}

// table prints a line for each stage, and reports whether all are ok.
func table(w io.Writer, lanes []lane, outcomes map[string]*outcome, wall time.Duration) bool {
	ok, cpu, repeated := true, time.Duration(0), 0
	line := func(name, state string, repeated int, wall, cpu time.Duration) {
		fmt.Fprintf(w, "%-24s %-8s %9d %9.0f %9.0f\n", name, state, repeated, wall.Seconds(), cpu.Seconds())
	}
	fmt.Fprintf(w, "\n%-24s %-8s %9s %9s %9s\n", "stage", "result", "repeated", "wall (s)", "CPU (s)")
	for _, l := range lanes {
		for _, s := range l.stages {
			o := outcomes[s.name]
			line(s.name, o.state, o.repeated, o.wall, o.cpu)
			ok, cpu, repeated = ok && o.state == "ok", cpu+o.cpu, repeated+o.repeated
		}
	}
	state := "ok"
	if !ok {
		state = "failed"
	}
	line("all", state, repeated, wall, cpu)
	return ok
}
