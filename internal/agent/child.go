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

// outputGrace is how long orphans of a program may hold its standard output open.
const outputGrace = time.Second

// pipe is a pipe with deadlines.
type pipe interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// child is a program. Its output waits in a pipe until a stream attaches; when the pipe is
// full, the program blocks. So no output is lost, and no buffer grows.
type child struct {
	process *process.Process
	out     *os.File
	over    chan struct{} // closed when it has exited

	mu       sync.Mutex
	asked    bool   // to exit
	oomKills uint64 // of the container, at the start
	baseline time.Duration
	before   measure.ProcessorTimes // of the node and the container
	peak     uint64                 // of memory, as last measured
}

// read reads output, and returns io.EOF at its end.
func (c *child) read(p []byte) (int, error) {
	for {
		ended := false
		select {
		case <-c.over:
			ended = true
			_ = c.out.SetReadDeadline(time.Now().Add(outputGrace))
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
			return n, err // setDeadline ended the read
		}
	}
}

// setDeadline sets the deadline of reads and writes; zero: none.
func (c *child) setDeadline(until time.Time) {
	_ = c.out.SetReadDeadline(until)
	if in, ok := c.process.Stdin.(pipe); ok {
		_ = in.SetWriteDeadline(until)
	}
}

// signal sends a requested signal.
func (c *child) signal(s syscall.Signal) error {
	c.measure()
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

// terminate stops the program. It resumes a suspended one, which could not exit.
func (c *child) terminate() {
	_ = c.process.Signal(syscall.SIGCONT)
	_ = c.signal(syscall.SIGTERM)
}

// kill kills the program and returns when it has exited.
func (c *child) kill() {
	c.mu.Lock()
	select {
	case <-c.process.Done(): // it exited before
	default:
		c.asked = true
	}
	c.mu.Unlock()
	c.process.Kill()
	<-c.over
}

// measure returns the CPU time of the program, and stores its peak of memory unless it has
// exited.
func (c *child) measure() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.process.Done(): // its process ID may be reused
		return c.process.CPU()
	default:
	}
	if peak, err := measure.MaxRSS(c.process.Pid()); err == nil {
		c.peak = peak
	}
	cpu, err := measure.CPU(c.process.Pid())
	if err != nil { // it is just exiting
		<-c.process.Done()
		cpu = c.process.CPU()
	}
	return cpu
}

// usage is the resources used since the last reset.
func (c *child) usage(reset bool) *rpclabv1.UsageReply {
	cpu, now := c.measure(), measure.ReadProcessorTimes()
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

// ended says how the program exited.
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

// status is the exit status of the program as in a shell.
func (c *child) status() int {
	e := c.ended()
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return int(e.ExitCode)
}

// pid identifies the program.
func (c *child) pid() int64 { return int64(c.process.Pid()) }
