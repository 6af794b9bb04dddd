package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// The calls before each block, and the longest time of a block.
const (
	warmUpCalls = 10
	blockLength = 100 * time.Millisecond
)

// warmChannel is a channel to one address, on which a few calls are made to warm it up, and then blocks of calls that
// are measured.
type warmChannel interface {
	warm(context.Context) error
	measure(context.Context, pace.Closed) (measure.Measurement, error)
}

// channels returns a function that returns channels of a trial's caller, on this machine or in a pod, which reaches the
// backends. Call end when no block follows.
func (r *trialRunner) channels(ctx context.Context, t trial) (to func(netip.AddrPort, []service.Spec) warmChannel, end func(), err error) {
	job := t.job
	job.Flow, job.Hedge, job.Channels = false, nil, caller.Channels{Mode: caller.Shared}
	if !r.builder.remote {
		var opened []*localChannel
		to = func(to netip.AddrPort, calls []service.Spec) warmChannel {
			job := job
			job.Calls = calls
			channel := &localChannel{open: func() (caller.Session, error) {
				return t.library.Open(job, caller.Target{URI: "passthrough:///" + to.String(), Close: func() {}})
			}}
			opened = append(opened, channel)
			return channel
		}
		return to, func() {
			for _, channel := range opened {
				channel.close()
			}
		}, nil
	}
	started, err := r.builder.cluster.StartCallers(ctx, cluster.CallerSpec{Name: t.processName("proxy-cost"), Count: 1, Args: []string{"caller"}})
	if err != nil {
		return nil, nil, err
	}
	process := newCallerProcess(started[0], "the caller", func(measure.Snapshot) {})
	to = func(to netip.AddrPort, calls []service.Spec) warmChannel {
		job := job
		job.Calls = calls
		return podChannel{process, assignment{Caller: t.library.name, Job: job, Gateway: to.String(), Warmup: warmUpCalls}}
	}
	return to, process.kill, nil
}

// localChannel is a channel of this process.
type localChannel struct {
	open    func() (caller.Session, error)
	session caller.Session // nil: not open
}

func (l *localChannel) warm(ctx context.Context) (err error) {
	if l.session == nil {
		if l.session, err = l.open(); err != nil {
			return err
		}
	}
	_, _, err = l.session.Run(ctx, pace.Closed{Users: 1, Calls: warmUpCalls, Duration: blockLength}, measure.StartSignal{})
	return err
}

func (l *localChannel) measure(ctx context.Context, calls pace.Closed) (m measure.Measurement, err error) {
	recorder, _, err := l.session.Run(ctx, calls, measure.StartSignal{})
	if err != nil {
		return m, err
	}
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	return m, errors.Join(failure(m), ctx.Err())
}

func (l *localChannel) close() {
	if l.session != nil {
		_ = l.session.Close()
	}
}

// podChannel is the channel of a caller in a pod, which has one at a time.
type podChannel struct {
	process  *callerProcess
	assigned assignment
}

func (p podChannel) warm(ctx context.Context) error {
	_, err := openMethod.Call(ctx, p.process.client, p.assigned)
	return p.process.died(err)
}

func (p podChannel) measure(ctx context.Context, calls pace.Closed) (measure.Measurement, error) {
	m, err := loadMethod.Call(ctx, p.process.client, loadRequest{Pace: pace.Spec{Closed: &calls}})
	return m, errors.Join(p.process.died(err), failure(m))
}

// failure returns an error if a call failed.
func failure(m measure.Measurement) error {
	for code, message := range m.Samples {
		return fmt.Errorf("a call failed with %s: %s", code, message)
	}
	return nil
}
