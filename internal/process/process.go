// Package process runs child processes that never outlive this one, however it ends.
package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Spec is what to run.
type Spec struct {
	Args   []string  // program and arguments
	Env    []string  // added to this process's own, NAME=value
	Stdout io.Writer // nil: kept with standard error as log lines
	Log    io.Writer // hears the log lines too; nil: nobody
	// Workers says that the child starts processes of its own, which no parent-death
	// signal reaches: they end with this process too, however it ends.
	Workers bool
	// Processors are those on which the child may run, by number; none: all. On Linux alone.
	Processors []int
}

// guard is a shell script that becomes the program of its arguments and leaves a child
// behind which ends the whole group when its standard input does. The kernel may hang up
// a group that is left with stopped processes, which must not end the guard before. It
// holds none of the program's output, whose end would else have to wait for it.
const guard = `exec 3<&0; { trap "" HUP; read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec "$@" 3<&-`

// Process is a child process. Its standard input is a pipe that ends with this
// process: a child that reads it to the end knows when its parent is gone, even
// where the system has no parent-death signal.
type Process struct {
	Stdin io.WriteCloser

	cmd  *exec.Cmd
	log  tail
	done chan struct{}
	err  error
}

// Start runs a child in a process group of its own, so that an interrupt typed at
// the terminal reaches this process alone.
func Start(spec Spec) (*Process, error) {
	args := spec.Args
	if spec.Workers {
		args = append([]string{"sh", "-c", guard, "sh"}, args...)
	}
	p := &Process{cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), spec.Env...)
	p.cmd.SysProcAttr = attributes()
	p.cmd.Stderr, p.cmd.Stdout = &p.log, spec.Stdout
	if spec.Log != nil {
		p.cmd.Stderr = io.MultiWriter(&p.log, spec.Log)
	}
	if spec.Stdout == nil {
		p.cmd.Stdout = p.cmd.Stderr
	}
	// A child that is killed may leave pipes open in children of its own.
	p.cmd.WaitDelay = time.Second
	var err error
	if p.Stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The parent-death signal is sent when the thread that started the child ends,
		// so this thread stays until the child is gone: prctl(2), PR_SET_PDEATHSIG.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startOn(spec.Processors, p.cmd.Start)
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			// What it leaves behind ends with it. The group keeps its id while it has members.
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Args[0], err)
	}
	return p, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done closes when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended: nil for exit code 0. Only after [Process.Done].
func (p *Process) Err() error { return p.err }

// Log is the last lines that the process wrote.
func (p *Process) Log() string { return p.log.String() }

// Signal sends a signal; a process that has ended is no error.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && err != os.ErrProcessDone {
		return fmt.Errorf("signal process %d: %w", p.Pid(), err)
	}
	return nil
}

// Stop asks the process to end, kills it after grace, and returns when it is gone.
func (p *Process) Stop(grace time.Duration) {
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// Kill ends the process and its group at once and returns when it is gone.
func (p *Process) Kill() {
	select {
	case <-p.done: // its id may be another's by now
		return
	default:
	}
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
	<-p.done
}

// CPU is the user and system time of a process that has ended. Its peak memory is
// not to be had any more: what wait4(2) reports includes the parent's, whose memory
// the child shared for a moment when it began.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}
