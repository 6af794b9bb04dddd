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

// outputGrace is how long processes that a program left behind may keep its standard output open.
const outputGrace = time.Second

// pipe is a pipe with deadlines.
type pipe interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// child is a program that the agent started. Its output stays in a pipe until a stream attaches. When the
// pipe is full, the program blocks. So no output is lost, and no buffer grows.
type child struct {
	id      string // random
	process *process.Process
	out     *os.File
	exited  chan struct{} // closed when the program has exited

	mu        sync.Mutex
	requested bool                   // a client or the agent asked for the exit
	oomKills  uint64                 // OOM kills in the container before the program started
	cpuBefore time.Duration          // CPU time at the last reset
	before    measure.ProcessorTimes // of the node and the container, at the last reset
	peak      uint64                 // peak memory at the last measurement, bytes
}

// read reads output. It returns io.EOF at the end of the output, and [os.ErrDeadlineExceeded] after
// setDeadline, or when other processes keep the output open for outputGrace after the program has exited.
func (c *child) read(p []byte) (int, error) {
	for {
		ended := false
		select {
		case <-c.exited:
			ended = true
			_ = c.out.SetReadDeadline(time.Now().Add(outputGrace))
		default:
		}
		n, err := c.out.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		select {
		case <-c.exited:
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

// signal sends a signal that a client or the agent asked for.
func (c *child) signal(s syscall.Signal) error {
	c.measure()
	switch s {
	case syscall.SIGKILL:
		c.kill()
		return nil
	case syscall.SIGSTOP:
		return c.process.Suspend()
	case syscall.SIGCONT:
		return c.process.Resume()
	}
	if s == syscall.SIGTERM || s == syscall.SIGINT {
		c.mu.Lock()
		c.requested = true
		c.mu.Unlock()
	}
	return c.process.Signal(s)
}

// terminate sends SIGTERM. It first resumes the program, because a suspended program cannot exit.
func (c *child) terminate() {
	_ = c.process.Resume()
	_ = c.signal(syscall.SIGTERM)
}

// kill kills the program and returns when it has exited.
func (c *child) kill() {
	c.mu.Lock()
	select {
	case <-c.process.Done(): // it exited before this request
	default:
		c.requested = true
	}
	c.mu.Unlock()
	c.process.Kill()
	<-c.exited
}

// measure returns the CPU time of the program and of the processes that it started, and updates their peak memory unless
// the program has exited.
func (c *child) measure() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.process.Done(): // its process ID may be reused
		return c.process.CPU()
	default:
	}
	cpu, peak := measure.TreeUsage(c.process.Pid())
	if _, err := measure.CPU(c.process.Pid()); err != nil { // it exited meanwhile
		<-c.process.Done()
		return c.process.CPU()
	}
	if peak > 0 {
		c.peak = peak
	}
	return cpu
}

// usage returns the resources used since the last reset.
func (c *child) usage(reset bool) *rpclabv1.UsageReply {
	cpu, now := c.measure(), measure.ReadProcessorTimes()
	c.mu.Lock()
	defer c.mu.Unlock()
	times := now.Since(c.before)
	used := &rpclabv1.UsageReply{
		CpuNs: int64(cpu - c.cpuBefore), MaxRss: c.peak, ThrottledNs: int64(times.Throttled), Stolen: times.StolenShare(), Log: c.process.Log(),
	}
	if reset {
		c.cpuBefore, c.before = cpu, now
		select {
		case <-c.process.Done():
		default:
			for _, pid := range process.Tree(c.process.Pid()) {
				_ = measure.ResetMaxRSS(pid)
			}
		}
	}
	return used
}

// ended describes how the program exited.
func (c *child) ended() *rpclabv1.Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &rpclabv1.Ended{Asked: c.requested, OomKills: measure.OOMKills() - c.oomKills, Log: c.process.Log()}
	var exit *exec.ExitError
	if !errors.As(c.process.Err(), &exit) {
		return e
	}
	e.ExitCode = int32(exit.ExitCode())
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int32(status.Signal())
	}
	return e
}

// status returns the exit status of the program as a shell reports it.
func (c *child) status() int {
	e := c.ended()
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return int(e.ExitCode)
}

// pid returns the process ID of the program.
func (c *child) pid() int64 { return int64(c.process.Pid()) }
