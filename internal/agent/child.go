package agent

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/process"
)

// lastWords is how long what a program left behind may hold its standard output open.
const lastWords = time.Second

// pipe is an end of one that can be told to wait no longer.
type pipe interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// child is a program. What it writes waits in its pipe, and it with that once the pipe is
// full, until somebody attends: so nothing is lost, and nothing grows.
type child struct {
	process *process.Process
	out     *os.File
	over    chan struct{} // closed when it is gone

	mu       sync.Mutex
	asked    bool   // to end
	oomKills uint64 // of the container, before
	baseline time.Duration
	before   measure.Processors // of the node and the container
	peak     uint64             // of memory, the last time that it was looked at
}

func (a *Agent) start(args []string) (*child, error) {
	if args[0] == "rpclab" {
		args = append([]string{a.Self}, args[1:]...)
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{out: out, over: make(chan struct{}), oomKills: measure.OOMKills(), before: measure.LookAtProcessors()}
	c.process, err = a.orphans.sparing(func() (*process.Process, error) {
		return process.Start(process.Spec{Args: args, Stdout: in, Log: a.Stderr})
	})
	in.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	a.mu.Lock()
	a.child = c
	ending := a.ending
	a.mu.Unlock()
	if ending {
		c.terminate()
	}
	go func() {
		<-c.process.Done()
		_ = out.SetReadDeadline(time.Now().Add(lastWords)) // wakes who reads
		close(c.over)
	}()
	return c, nil
}

// read is the next output: io.EOF when there will be no more.
func (c *child) read(p []byte) (int, error) {
	for {
		ended := false
		select {
		case <-c.over:
			ended = true
			_ = c.out.SetReadDeadline(time.Now().Add(lastWords))
		default:
		}
		n, err := c.out.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		select {
		case <-c.over:
			if ended {
				return n, err
			}
		default:
			return n, err // who reads was told to go
		}
	}
}

// wait sets until when who reads and writes may wait; zero: for ever.
func (c *child) wait(until time.Time) {
	_ = c.out.SetReadDeadline(until)
	if in, ok := c.process.Stdin.(pipe); ok {
		_ = in.SetWriteDeadline(until)
	}
}

// signal sends a signal that somebody asked for.
func (c *child) signal(s syscall.Signal) error {
	c.look()
	if s == syscall.SIGKILL {
		c.kill()
		return nil
	}
	if s == syscall.SIGTERM || s == syscall.SIGINT {
		c.mu.Lock()
		c.asked = true
		c.mu.Unlock()
	}
	return c.process.Signal(s)
}

// terminate tells the program to end. A stopped one is let go on, or it could not.
func (c *child) terminate() {
	_ = c.process.Signal(syscall.SIGCONT)
	_ = c.signal(syscall.SIGTERM)
}

// kill ends the program and returns when it is gone.
func (c *child) kill() {
	c.mu.Lock()
	select {
	case <-c.process.Done(): // it ended before anybody asked
	default:
		c.asked = true
	}
	c.mu.Unlock()
	c.process.Kill()
	<-c.over
}

// look is the processor's time that the program used in its life; it notes the peak of
// memory, if the process still has it to show.
func (c *child) look() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.process.Done(): // its id may be another's by now
		return c.process.CPU()
	default:
	}
	if peak, err := measure.MaxRSS(c.process.Pid()); err == nil {
		c.peak = peak
	}
	cpu, err := measure.CPU(c.process.Pid())
	if err != nil { // it is ending in this moment
		<-c.process.Done()
		cpu = c.process.CPU()
	}
	return cpu
}

// usage is what the program used since the last reset.
func (c *child) usage(reset bool) *rpclabv1.UsageReply {
	cpu, now := c.look(), measure.LookAtProcessors()
	c.mu.Lock()
	defer c.mu.Unlock()
	around := now.Since(c.before)
	used := &rpclabv1.UsageReply{
		CpuNs: int64(cpu - c.baseline), MaxRss: c.peak, ThrottledNs: int64(around.Throttled), Stolen: around.StolenShare(), Log: c.process.Log(),
	}
	if reset {
		c.baseline, c.before = cpu, now
		select {
		case <-c.process.Done():
		default:
			_ = measure.ResetMaxRSS(c.process.Pid())
		}
	}
	return used
}

// ended says how the program ended.
func (c *child) ended() *rpclabv1.Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &rpclabv1.Ended{Asked: c.asked, OomKills: measure.OOMKills() - c.oomKills, Log: c.process.Log()}
	var exit *exec.ExitError
	if !errors.As(c.process.Err(), &exit) {
		return e
	}
	e.ExitCode = int32(exit.ExitCode())
	if how, ok := exit.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		e.Signal = int32(how.Signal())
	}
	return e
}

// status is how the program ended, as a shell says it.
func (c *child) status() int {
	e := c.ended()
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return int(e.ExitCode)
}

// pid names the program.
func (c *child) pid() int64 { return int64(c.process.Pid()) }
