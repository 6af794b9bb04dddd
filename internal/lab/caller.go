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

// worker is the lab's end of a caller's process.
type worker struct {
	cluster.Member
	who      string // the caller; caller 2 of 4 (caller-1)
	reports  chan report
	snapshot func(measure.Snapshot)
	garbled  error         // why reading them ended, once reports is closed
	ahead    time.Duration // its clock is of the lab's
	began    time.Time     // its load, by the lab's clock; zero: none has
}

func newWorker(m cluster.Member, who string, snapshot func(measure.Snapshot)) *worker {
	w := &worker{Member: m, who: who, reports: make(chan report, 4), snapshot: snapshot}
	go w.read()
	return w
}

func (w *worker) read() {
	defer close(w.reports)
	for lines := json.NewDecoder(w.Out()); ; {
		var r report
		if err := lines.Decode(&r); err != nil {
			if err != io.EOF {
				w.garbled = fmt.Errorf("it wrote no report: %w", err)
			}
			_, _ = io.Copy(io.Discard, w.Out()) // let the process end, whatever it writes
			return
		}
		if r.Snapshot != nil {
			w.snapshot(*r.Snapshot)
			continue
		}
		w.reports <- r
	}
}

// next is the worker's next report.
func (w *worker) next(ctx context.Context) (report, error) {
	select {
	case r, ok := <-w.reports:
		if !ok {
			return r, w.died(w.garbled)
		}
		if r.Error != "" {
			return r, fmt.Errorf("%s failed: %s", w.who, r.Error)
		}
		return r, nil
	case <-ctx.Done():
		return report{}, fmt.Errorf("%s has nothing to report: %w", w.who, context.Cause(ctx))
	}
}

func (w *worker) awaitReady(ctx context.Context) error {
	r, err := w.next(ctx)
	if err == nil && !r.Ready {
		err = fmt.Errorf("%s spoke before it was ready", w.who)
	}
	return err
}

// tell sends a line: the assignment, or an order.
func (w *worker) tell(line any) error {
	if err := json.NewEncoder(w.In()).Encode(line); err != nil {
		return w.died(err)
	}
	return nil
}

func (w *worker) measurement(ctx context.Context) (measure.Measurement, error) {
	r, err := w.next(ctx)
	if err != nil {
		return measure.Measurement{}, err
	}
	if r.Measurement == nil {
		return measure.Measurement{}, fmt.Errorf("%s ended without a measurement", w.who)
	}
	return *r.Measurement, nil
}

// died says how a worker ended that should have gone on.
func (w *worker) died(err error) error {
	w.Kill()
	when := ""
	if into := time.Since(w.began); !w.began.IsZero() && into > 0 {
		when = fmt.Sprintf(" %.1f s into the load", into.Seconds())
	}
	if err = errors.Join(w.Err(), err); err == nil {
		err = errors.New("it ended without a report")
	}
	return fmt.Errorf("%s died%s: %w%s", w.who, when, err, lastLines(w.Process))
}

// kill ends the caller and its sidecar, and returns when nothing more will be heard.
func (w *worker) kill() {
	w.Kill()
	if w.Sidecar != nil {
		w.Sidecar.Kill()
	}
	for range w.reports {
	}
}

// lastLines are those of a program that died; empty: it wrote none, or they went with it.
func lastLines(p cluster.Process) string {
	if log := p.Log(); log != "" {
		return "; its last lines:\n" + log
	}
	return ""
}
