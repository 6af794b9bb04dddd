package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// callerProcess is the lab's end of a caller's process.
type callerProcess struct {
	cluster.Caller
	label       string // for messages: the caller; caller 2 of 4 (caller-1)
	reports     chan callerReport
	snapshot    func(measure.Snapshot) // called with every snapshot
	readErr     error                  // why reading reports ended, once reports is closed
	clockOffset time.Duration          // the caller's clock minus the lab's
	began       time.Time              // the load, by the lab's clock; zero: no load has begun
}

func newCallerProcess(c cluster.Caller, label string, snapshot func(measure.Snapshot)) *callerProcess {
	w := &callerProcess{Caller: c, label: label, reports: make(chan callerReport, 4), snapshot: snapshot}
	go w.read()
	return w
}

func (w *callerProcess) read() {
	defer close(w.reports)
	for lines := json.NewDecoder(w.Stdout()); ; {
		var r callerReport
		if err := lines.Decode(&r); err != nil {
			if err != io.EOF {
				w.readErr = fmt.Errorf("it wrote no report: %w", err)
			}
			_, _ = io.Copy(io.Discard, w.Stdout()) // let the process end, whatever it writes
			return
		}
		if r.Snapshot != nil {
			w.snapshot(*r.Snapshot)
			continue
		}
		w.reports <- r
	}
}

// next returns the caller's next report.
func (w *callerProcess) next(ctx context.Context) (callerReport, error) {
	select {
	case r, ok := <-w.reports:
		if !ok {
			return r, w.died(w.readErr)
		}
		if r.Error != "" {
			return r, fmt.Errorf("%s failed: %s", w.label, r.Error)
		}
		return r, nil
	case <-ctx.Done():
		return callerReport{}, fmt.Errorf("%s does not report: %w", w.label, context.Cause(ctx))
	}
}

func (w *callerProcess) awaitReady(ctx context.Context) error {
	r, err := w.next(ctx)
	if err == nil && !r.Ready {
		err = fmt.Errorf("%s reported before it was ready", w.label)
	}
	return err
}

// send sends a line: the assignment, or an order.
func (w *callerProcess) send(line any) error {
	if err := json.NewEncoder(w.Stdin()).Encode(line); err != nil {
		return w.died(err)
	}
	return nil
}

func (w *callerProcess) measurement(ctx context.Context) (measure.Measurement, error) {
	r, err := w.next(ctx)
	if err != nil {
		return measure.Measurement{}, err
	}
	if r.Measurement == nil {
		return measure.Measurement{}, fmt.Errorf("%s ended without a measurement", w.label)
	}
	return *r.Measurement, nil
}

// died says how the process ended.
func (w *callerProcess) died(err error) error {
	w.Kill()
	when := ""
	if into := time.Since(w.began); !w.began.IsZero() && into > 0 {
		when = fmt.Sprintf(" %.1f s into the load", into.Seconds())
	}
	if err = errors.Join(w.Err(), err); err == nil {
		err = errors.New("it ended without a report")
	}
	return fmt.Errorf("%s died%s: %w%s", w.label, when, err, lastLines(w.Process))
}

// kill ends the caller and its sidecar, and returns when the last report is read.
func (w *callerProcess) kill() {
	w.Kill()
	if w.Sidecar != nil {
		w.Sidecar.Kill()
	}
	for range w.reports {
	}
}

// lastLines are the last lines that a dead process logged; empty: there are none, or they are lost.
func lastLines(p cluster.Process) string {
	if log := p.Log(); log != "" {
		return "; its last lines:\n" + log
	}
	return ""
}

// clockReadings is how often a caller is asked for its time; the quickest answer counts.
const clockReadings = 5

// readClock sets the offset of the caller's clock and returns how long the slowest answer
// took. The quickest answer is taken to be given half-way through its round trip. An offset
// within half of that trip cannot be told from 0, as between processes of one machine.
func (w *callerProcess) readClock(ctx context.Context) (slowest time.Duration, err error) {
	var trip time.Duration
	for i := range clockReadings {
		sent := time.Now()
		if err := w.send(loadOrder{Clock: true}); err != nil {
			return 0, err
		}
		r, err := w.next(ctx)
		if err != nil {
			return 0, err
		}
		if r.Clock.IsZero() {
			return 0, fmt.Errorf("%s did not report its time", w.label)
		}
		took := time.Since(sent)
		slowest = max(slowest, took)
		if i == 0 || took < trip {
			trip, w.clockOffset = took, r.Clock.Sub(sent.Add(took/2))
		}
	}
	if w.clockOffset.Abs() <= trip/2 {
		w.clockOffset = 0
	}
	return slowest, nil
}
