package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/process/stdio"
)

// callerProcess is the lab's end of a caller's process.
type callerProcess struct {
	cluster.Caller
	client      *stdio.Client
	clockOffset time.Duration // the caller's clock minus the lab's
	began       time.Time     // the load, by the lab's clock; zero: no load has begun
}

// newCallerProcess calls onSnapshot with every snapshot of the caller. label names the caller in
// errors: "the caller" or "caller 2 of 4 (caller-1)".
func newCallerProcess(c cluster.Caller, label string, onSnapshot func(measure.Snapshot)) *callerProcess {
	onEvent := func(event json.RawMessage) {
		var s measure.Snapshot
		if json.Unmarshal(event, &s) == nil { // the measurement contains what a lost snapshot contained
			onSnapshot(s)
		}
	}
	return &callerProcess{Caller: c, client: stdio.NewClient(label, c, c.Stdin(), c.Stdout(), onEvent)}
}

// load makes the caller's share of a load that starts at a time of the lab's clock, and returns
// its measurement in times of that clock.
func (p *callerProcess) load(ctx context.Context, start time.Time, share loadRequest) (measure.Measurement, error) {
	p.began, share.At = start, start.Add(p.clockOffset)
	m, err := loadMethod.Call(ctx, p.client, share)
	m.Started = m.Started.Add(-p.clockOffset)
	for i := range m.ResolverUpdates {
		m.ResolverUpdates[i].At = m.ResolverUpdates[i].At.Add(-p.clockOffset)
	}
	return m, err
}

// died returns the error of a process that exited, with how long its load had run. It returns other
// errors as they are.
func (p *callerProcess) died(err error) error {
	exit, ended := errors.AsType[*stdio.ExitError](err)
	if !ended {
		return err
	}
	when := ""
	if into := time.Since(p.began); !p.began.IsZero() && into > 0 {
		when = fmt.Sprintf(" %.1f s into the load", into.Seconds())
	}
	return fmt.Errorf("%s died%s: %s", exit.Name, when, exit.Reason())
}

// kill ends the caller and its sidecar, and returns when no snapshot can follow.
func (p *callerProcess) kill() {
	p.client.Kill()
	if p.Sidecar != nil {
		p.Sidecar.Kill()
	}
}

// clockReadings is how often the lab reads a caller's clock; it uses the quickest answer.
const clockReadings = 5

// readClock sets the offset of the caller's clock and returns how long the slowest answer took. It
// assumes that the caller read its clock half-way through the quickest round trip. An offset of at
// most half of that round trip counts as 0: so small an offset cannot be measured.
func (p *callerProcess) readClock(ctx context.Context) (slowest time.Duration, err error) {
	var trip time.Duration
	for i := range clockReadings {
		sent := time.Now()
		clock, err := clockMethod.Call(ctx, p.client, stdio.None{})
		if err != nil {
			return 0, err
		}
		took := time.Since(sent)
		slowest = max(slowest, took)
		if i == 0 || took < trip {
			trip, p.clockOffset = took, clock.Sub(sent.Add(took/2))
		}
	}
	if p.clockOffset.Abs() <= trip/2 {
		p.clockOffset = 0
	}
	return slowest, nil
}
