// Package own runs clients of the user's: programs that make the calls whose numbers they read, and write how each
// ended (docs/your-client.md).
package own

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/process/stdio"
)

// Caller starts the program of a job.
type Caller struct{}

// clientExited is the code of calls that were lost because the program exited.
const clientExited = "CLIENT_EXITED"

// session is a running program.
type session struct {
	name    string
	timeout time.Duration // of a call, which the client keeps
	late    time.Duration
	program *process.Process
	stdout  io.Reader
	calls   *calls
	numbers chan uint64   // of calls that are due
	stop    chan struct{} // closed by Close
}

// Open starts the program and returns when it is ready.
func (Caller) Open(job caller.Job, target caller.Target) (caller.Session, error) {
	command := job.Command
	if target.Dial != nil || target.PortableURI == "" {
		return nil, fmt.Errorf("only rpclab's callers in Go support this route to %s: use direct, headless, forwarder, or a proxy", target.URI)
	}
	stdout, written := io.Pipe()
	program, err := process.Start(process.Spec{
		Args: command.Args, Dir: command.Dir, Env: append(target.Env, command.Env...), Stdout: written,
	})
	if err != nil {
		return nil, fmt.Errorf("caller.command: %w", err)
	}
	go func() {
		<-program.Done()
		_ = written.Close() // always returns nil
	}()
	s := &session{
		name: "the client " + command.Args[0], timeout: job.Timeout, late: job.Late, program: program, stdout: stdout,
		calls: newCalls(*command), numbers: make(chan uint64), stop: make(chan struct{}),
	}
	if err := s.awaitReady(job, target); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// awaitReady sends the job and returns when the program has answered that it is ready.
func (s *session) awaitReady(job caller.Job, target caller.Target) error {
	request, err := json.Marshal(jobLine{Target: target.PortableURI, Call: job.Command.Call, Timeout: job.Timeout, ServiceConfig: target.ServiceConfig})
	if err != nil {
		return err
	}
	lines := bufio.NewReader(s.stdout)
	ready := make(chan error, 1)
	go func() {
		err := s.readReady(lines, request)
		ready <- err
		if err == nil {
			go s.write()
			s.calls.end(s.read(lines))
		}
	}()
	select {
	case err := <-ready:
		return err
	case <-time.After(job.Command.ReadyTimeout):
		s.program.Kill()
		<-ready
		return s.fail(fmt.Errorf("it was not ready within %v: it has to write %s to standard output, or set caller.ready_timeout", job.Command.ReadyTimeout, readyLine))
	}
}

func (s *session) readReady(lines *bufio.Reader, request []byte) error {
	if _, err := s.program.Stdin.Write(append(request, '\n')); err != nil {
		return s.exited()
	}
	line, err := readLine(lines)
	if errors.Is(err, io.EOF) {
		return s.exited()
	} else if err != nil {
		return s.fail(err)
	}
	var answer struct {
		Ready bool   `json:"ready"`
		Error string `json:"error"`
	}
	switch err := json.Unmarshal(line, &answer); {
	case err == nil && answer.Ready:
		return nil
	case err == nil && answer.Error != "":
		return s.fail(errors.New(answer.Error))
	}
	return s.fail(unexpectedLine(line, readyLine))
}

// fail kills a program that breaks the protocol, and returns the error with its last lines.
func (s *session) fail(cause error) error {
	s.kill()
	return fmt.Errorf("%s: %s", s.name, (&stdio.ExitError{Cause: cause, Log: s.program.Log()}).Reason())
}

// exited returns the error of a program whose output has ended.
func (s *session) exited() error {
	s.kill()
	return stdio.Exited(s.name, s.program, nil)
}

// kill kills the program. Its output has no other reader then, and the program ends only when all of it is read.
func (s *session) kill() {
	go func() { _, _ = io.Copy(io.Discard, s.stdout) }()
	s.program.Kill()
}

// write writes the numbers of calls to the program, as many as there are at a time.
func (s *session) write() {
	to := bufio.NewWriter(s.program.Stdin)
	for {
		select {
		case n := <-s.numbers:
			if _, err := fmt.Fprintln(to, n); err != nil {
				return // it has exited, or has closed its input
			}
		case <-s.stop:
			return
		}
		if len(s.numbers) == 0 && to.Flush() != nil {
			return
		}
	}
}

// read reads outcomes until the output ends, and returns what was wrong with it.
func (s *session) read(lines *bufio.Reader) error {
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return s.exited()
		}
		var o outcome
		if err == nil {
			o, err = parseOutcome(line)
		}
		if err == nil {
			err = s.calls.answer(o)
		}
		if err != nil {
			return &contractError{s.fail(err)}
		}
	}
}

// Run sends the program the number of each call when it is due, and records what it answers. It fails if the program exits
// during a closed load with a duration: nobody knows how many calls its users would have made.
func (s *session) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, _ := measure.TreeUsage(s.program.Pid())
	closed, _ := plan.(pace.Closed)
	endless := closed.Duration > 0 // users would lose calls until then
	var exited atomic.Bool
	recorder, start := caller.RunTimed(ctx, plan, signal, s.late, func(ctx context.Context, _ uint64) (caller.Outcome, time.Time, time.Time) {
		o := s.call(ctx)
		if o.Code == clientExited && endless {
			exited.Store(true)
			cancel()
		}
		return o.outcome(), o.sent(), o.done()
	})
	if err := s.calls.violation(); err != nil {
		return nil, start, err
	}
	if exited.Load() {
		return nil, start, fmt.Errorf("%w\nIt exited %v after the start of a closed load", s.calls.err, time.Since(start).Round(time.Millisecond))
	}
	if after, _ := measure.TreeUsage(s.program.Pid()); after > before { // otherwise it has ended, and its CPU time is unknown
		recorder.AddCPU(after - before)
	}
	return recorder, start, nil
}

// answerGrace is how long after a call's timeout its outcome may arrive.
const answerGrace = 2 * time.Second

// call has the program make one call.
func (s *session) call(ctx context.Context) outcome {
	n, answered := s.calls.begin()
	began, within := time.Now(), s.timeout+answerGrace
	expired := time.NewTimer(within)
	defer expired.Stop()
	lost := func(code, message string) outcome {
		s.calls.forget(n)
		now := time.Now().UnixNano()
		return outcome{Code: code, Message: message, Sent: now, Done: now}
	}
	atExit := func() outcome {
		select {
		case o := <-answered: // written before the end
			return o
		default:
			return lost(clientExited, s.calls.err.Error())
		}
	}
	numbers := s.numbers
	for {
		select {
		case numbers <- n:
			numbers = nil
		case o := <-answered:
			return o
		case <-ctx.Done():
			select {
			case <-s.calls.ended: // which is why the load ended
				return atExit()
			default:
				return lost("CANCELLED", "the load ended before the call")
			}
		case <-expired.C:
			o := lost("DEADLINE_EXCEEDED", fmt.Sprintf("the client wrote no outcome of call %d within %v, the timeout and a grace of %v", n, within, answerGrace))
			o.Sent = began.UnixNano() // it is the client that was late
			return o
		case <-s.calls.ended:
			return atExit()
		}
	}
}

// Pid returns the id of the process that makes the calls.
func (s *session) Pid() int { return s.program.Pid() }

// stopGrace is how long a program may take to exit after its input has ended.
const stopGrace = 2 * time.Second

// Close ends the input of the program, which then exits.
func (s *session) Close() error {
	close(s.stop)
	err := s.program.Stdin.Close()
	select {
	case <-s.program.Done():
		err = nil // the pipe may have closed with it
	case <-time.After(stopGrace):
		s.program.Kill()
	}
	return err
}
