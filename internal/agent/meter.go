package agent

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
)

// observePause is the time between two looks at whether an observed program still runs.
const observePause = 50 * time.Millisecond

// observed is a program that the agent did not start, and only measures: that of another container.
type observed struct {
	pid int

	mu        sync.Mutex
	cpuBefore time.Duration          // CPU time at the last reset
	before    measure.ProcessorTimes // of the node, at the last reset
}

// usage returns the resources used since the last reset, or since the program started. How long its container was
// throttled is not known, because control groups of other containers cannot be read.
func (o *observed) usage(reset bool) (*rpclabv1.UsageReply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	cpu, peak := measure.TreeUsage(o.pid)
	if peak == 0 {
		return nil, status.Errorf(codes.NotFound, "there is no process %d", o.pid)
	}
	now := measure.ReadProcessorTimes()
	used := &rpclabv1.UsageReply{CpuNs: int64(cpu - o.cpuBefore), MaxRss: peak, Stolen: now.Since(o.before).StolenShare()}
	if reset {
		o.cpuBefore, o.before = cpu, now
		measure.ResetTreeMaxRSS(o.pid)
	}
	return used, nil
}

// exited returns a channel that closes when the program has exited.
func (o *observed) exited() <-chan struct{} {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		for tick := time.Tick(observePause); ; <-tick {
			if _, err := measure.CPU(o.pid); err != nil {
				return
			}
		}
	}()
	return exited
}

// Meter measures a program that its agent observes.
type Meter struct{ process *Process }

// NewMeter returns a meter of the program that an agent observes. It makes no request.
func NewMeter(conn grpc.ClientConnInterface, p Target) *Meter {
	return &Meter{&Process{target: p, client: rpclabv1.NewAgentClient(conn)}}
}

// Usage returns the usage. It fails after the program has exited.
func (m *Meter) Usage(ctx context.Context) (Usage, error) { return m.process.Usage(ctx) }

// ResetUsage starts a new measurement.
func (m *Meter) ResetUsage(ctx context.Context) error { return m.process.ResetUsage(ctx) }
