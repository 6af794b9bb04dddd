package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"rpclab/internal/measure"
	"rpclab/internal/process"
)

// worker is the lab's end of a caller's process.
type worker struct {
	process *process.Process
	reports chan report
	garbled error // why reading them ended, once reports is closed
}

func startWorker(command []string, a assignment) (*worker, error) {
	out, in := io.Pipe()
	p, err := process.Start(process.Spec{Args: command, Stdout: in})
	if err != nil {
		return nil, fmt.Errorf("start the caller: %w", err)
	}
	go func() {
		<-p.Done()
		in.Close()
	}()
	w := &worker{process: p, reports: make(chan report, 4)}
	go w.read(out)
	if err := json.NewEncoder(p.Stdin).Encode(a); err != nil {
		return nil, w.died(err)
	}
	return w, nil
}

func (w *worker) read(out io.Reader) {
	defer close(w.reports)
	for lines := json.NewDecoder(out); ; {
		var r report
		if err := lines.Decode(&r); err != nil {
			if err != io.EOF {
				w.garbled = fmt.Errorf("it wrote no report: %w", err)
			}
			_, _ = io.Copy(io.Discard, out) // let the process end, whatever it writes
			return
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
			return r, fmt.Errorf("the caller failed: %s", r.Error)
		}
		return r, nil
	case <-ctx.Done():
		return report{}, ctx.Err()
	}
}

func (w *worker) awaitReady(ctx context.Context) error {
	r, err := w.next(ctx)
	if err == nil && !r.Ready {
		err = errors.New("the caller spoke before it was ready")
	}
	return err
}

// begin starts a load.
func (w *worker) begin(o order) error {
	if err := json.NewEncoder(w.process.Stdin).Encode(o); err != nil {
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
		return measure.Measurement{}, errors.New("the caller ended without a measurement")
	}
	return *r.Measurement, nil
}

// died says how a worker ended that should have gone on.
func (w *worker) died(err error) error {
	w.kill()
	if err = errors.Join(w.process.Err(), err); err == nil {
		err = errors.New("it ended without a report")
	}
	return fmt.Errorf("the caller died: %w; its last lines:\n%s", err, w.process.Log())
}

func (w *worker) kill() { w.process.Kill() }
