// Package process runs child processes that never outlive this one, however it ends.
package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec is what to run.
type Spec struct {
	Args   []string  // program and arguments
	Dir    string    // the working directory; empty: this process's own
	Env    []string  // added to this process's own, NAME=value
	Stdout io.Writer // nil: written to the log, as standard error is
	Log    io.Writer // receives a copy of the log; nil: none
	// HasChildren says that the child starts processes, which the parent-death signal does not
	// reach. Those processes too end with this process, however it ends.
	HasChildren bool
	// NoInput makes the standard input of a child that HasChildren empty (/dev/null), as in a container.
	// Otherwise it is the pipe [Process.Stdin].
	NoInput bool
	// Processors are the numbers of the processors that the child may use; nil: all. Linux only.
	Processors []int
}

// ownersVariable is in the environment of a child and of what it starts, daemons too. Its value is the name that Start
// gives the child, after those of the children that started this process.
const ownersVariable = "RPCLAB_PROCESS"

// guard is a shell script that executes its arguments but the first two: the name of the child, and the value of
// [ownersVariable]. A background child of the script kills the process group, and what else has the name, when standard
// input ends. The background child ignores SIGHUP, which the kernel sends to an orphaned group with stopped processes,
// and closes the program's output.
const guard = `owner=$1 owners=$2; shift 2; exec 3<&0
{
	trap "" HUP; read -r _ <&3
	for found in $(grep -ls "` + ownersVariable + `=.*/$owner" /proc/[0-9]*/environ); do found=${found#/proc/}; kill -KILL ${found%/environ}; done
	kill -KILL 0
} >/dev/null 2>&1 &
export ` + ownersVariable + `="$owners"; exec "$@" 3<&-`

// guardNoInput also makes the standard input of the program empty.
const guardNoInput = guard + ` </dev/null`

// Process is a child process. Its standard input is a pipe that closes when this process ends: a
// child that reads it to the end learns that its parent is gone, even on systems without a
// parent-death signal.
type Process struct {
	Stdin io.WriteCloser

	cmd   *exec.Cmd
	log   tail
	done  chan struct{} // closed by end
	ended sync.Once
	err   error
	cpu   time.Duration
	self  member
}

// Start starts a child in a process group of its own, so that an interrupt from the terminal
// reaches this process alone.
func Start(spec Spec) (*Process, error) {
	args, owner := spec.Args, rand.Text()
	owners := os.Getenv(ownersVariable) + "/" + owner
	env := append(os.Environ(), spec.Env...)
	if spec.HasChildren {
		script := guard
		if spec.NoInput {
			script = guardNoInput
		}
		args = append([]string{"sh", "-c", script, "sh", owner, owners}, args...)
	} else {
		env = append(env, ownersVariable+"="+owners)
	}
	child := &Process{cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	child.cmd.Dir = spec.Dir
	child.cmd.Env = env
	child.cmd.SysProcAttr = attributes()
	child.cmd.Stderr, child.cmd.Stdout = &child.log, spec.Stdout
	if spec.Log != nil {
		child.cmd.Stderr = io.MultiWriter(&child.log, spec.Log)
	}
	if spec.Stdout == nil {
		child.cmd.Stdout = child.cmd.Stderr
	}
	// A child that is killed may leave pipes open in children of its own.
	child.cmd.WaitDelay = time.Second
	var err error
	if child.Stdin, err = child.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The parent-death signal is sent when the thread that started the child ends,
		// so this thread stays until the child is gone: prctl(2), PR_SET_PDEATHSIG.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := startOn(spec.Processors, child.cmd.Start)
		if err == nil {
			child.self = memberOf(child.Pid())
		}
		started <- err
		if err == nil {
			err := child.cmd.Wait()
			// Kill the processes that the child leaves behind. The group keeps its id while it has members.
			_ = syscall.Kill(-child.cmd.Process.Pid, syscall.SIGKILL)
			killOwned(owner)
			child.end(err, child.cmd.ProcessState)
		}
	}()
	if err := <-started; err != nil {
		return nil, startError(spec.Args[0], err)
	}
	return child, nil
}

// end records how the process ended. Only the first call has an effect. A process that cannot be killed has no state.
func (p *Process) end(err error, state *os.ProcessState) {
	p.ended.Do(func() {
		p.err = err
		if state != nil {
			p.cpu = state.UserTime() + state.SystemTime()
		}
		close(p.done)
	})
}

// startError says what to do if this process has too many files open to start another one.
func startError(program string, err error) error {
	if errors.Is(err, syscall.EMFILE) {
		err = fmt.Errorf("%w: raise the limit of open files (ulimit -Hn, or LimitNOFILE= of a service)", err)
	}
	return fmt.Errorf("start %s: %w", program, err)
}

// Run runs a child to its end and returns the last lines of its log, which are part of the error of a
// child that fails. It kills the child and returns the error of ctx when ctx ends first.
func Run(ctx context.Context, spec Spec) (log string, err error) {
	child, err := Start(spec)
	if err != nil {
		return "", err
	}
	select {
	case <-child.done:
	case <-ctx.Done():
		child.Kill()
		return "", ctx.Err()
	}
	if child.err != nil {
		return "", fmt.Errorf("%w\n%s", child.err, child.Log())
	}
	return child.Log(), nil
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done returns a channel that closes when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended: nil for exit code 0. Call it after [Process.Done] only.
func (p *Process) Err() error { return p.err }

// Log returns the last lines that the process wrote.
func (p *Process) Log() string { return p.log.String() }

// Signal sends a signal. It returns nil if the process has ended. If the process exits, its descendants are killed.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && err != os.ErrProcessDone {
		return fmt.Errorf("signal process %d: %w", p.Pid(), err)
	}
	return nil
}

// Suspend suspends the process and its descendants; Resume resumes them.
func (p *Process) Suspend() error {
	err := p.signalGroup(syscall.SIGSTOP)
	_, missed := suspend(p.self)
	return errors.Join(err, missed)
}

// Resume ends Suspend.
func (p *Process) Resume() error {
	var err error
	for _, m := range family(p.self) {
		err = errors.Join(err, m.signal(syscall.SIGCONT))
	}
	return errors.Join(err, p.signalGroup(syscall.SIGCONT))
}

// signalGroup sends a signal to the process group of the process, to which the process of [guard] belongs.
func (p *Process) signalGroup(signal syscall.Signal) error {
	select {
	case <-p.done: // another process may have the id now
		return nil
	default:
	}
	if err := syscall.Kill(-p.Pid(), signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process group %d: %w", p.Pid(), err)
	}
	return nil
}

// Stop sends SIGTERM, kills the process after the grace period, and returns when it has ended.
func (p *Process) Stop(grace time.Duration) { p.StopBy(syscall.SIGTERM, grace) }

// StopBy is Stop with another signal.
func (p *Process) StopBy(signal syscall.Signal, grace time.Duration) {
	_ = p.Signal(signal)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// ErrAlive is the error of a process that SIGKILL did not end.
var ErrAlive = errors.New("rpclab could not kill it: end it yourself")

// killTimeout is how long Kill waits for the end of a process.
const killTimeout = 10 * time.Second

// Kill kills the process, its descendants and its group, and returns when it has ended. A process of another user, which
// rpclab may not kill, counts as ended after [killTimeout], with [ErrAlive].
func (p *Process) Kill() {
	kill(p.self)
	_ = p.signalGroup(syscall.SIGKILL)
	select {
	case <-p.done:
	case <-time.After(killTimeout):
		p.end(fmt.Errorf("process %d is alive: %w", p.Pid(), ErrAlive), nil)
	}
}

// CPU returns the user and system time of a process that has ended. Its peak memory is not
// available then: what wait4(2) reports includes the memory of the parent, which the child shared
// when it started.
func (p *Process) CPU() time.Duration { return p.cpu }

// RaiseFileLimit raises this process's soft limit of open files to the hard limit and returns it.
// Children inherit it.
func RaiseFileLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	// Go raises the limit of this process when it starts, but children get the old limit unless the
	// program itself has set it.
	raised := syscall.Rlimit{Cur: limit.Max, Max: limit.Max}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
		limit = raised
	}
	return limit.Cur, nil
}

// Limit lowers the limits of this process and of its children: open files, and bytes of memory for data. 0 changes nothing.
func Limit(files, memory uint64) error {
	for _, limit := range []struct {
		resource int
		most     uint64
		what     string
	}{{syscall.RLIMIT_NOFILE, files, "open files"}, {syscall.RLIMIT_DATA, memory, "memory"}} {
		if limit.most == 0 {
			continue
		}
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", limit.what, limit.most, err)
		}
	}
	return nil
}
