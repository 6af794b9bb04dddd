package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// Each caller of a trial runs in a process of its own, a worker, so that its CPU
// time, its memory and its garbage are its own. They talk in JSON, a line each: the
// assignment in, "ready" out once it is warm; then orders in, until no more come, and out
// for each what time it is or, after snapshots, the measurement.

// assignment is what a worker is asked to do.
type assignment struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Caller   string            `json:"caller"`
	Job      caller.Job        `json:"job"`
	Warmup   int               `json:"warmup"`
	// Gateway is who makes the calls (host:port), which the caller asks for them; empty:
	// the caller makes them.
	Gateway string `json:"gateway,omitempty"`
}

// order is a load to make, or the question what time it is.
type order struct {
	Clock bool      `json:"clock,omitempty"` // say what time it is, and no more
	Pace  pace.Spec `json:"pace"`
	// At is when calls are due from, by the worker's clock; zero: now.
	At time.Time `json:"at,omitzero"`
	// Calls that are under way after Limit are given up; 0: none is.
	Limit time.Duration `json:"limit,omitempty"`
	Watch bool          `json:"watch,omitempty"` // tell snapshots
}

// report is what a worker says; one field is set.
type report struct {
	Ready       bool                 `json:"ready,omitempty"`
	Clock       time.Time            `json:"clock,omitzero"`
	Snapshot    *measure.Snapshot    `json:"snapshot,omitempty"`
	Measurement *measure.Measurement `json:"measurement,omitempty"`
	Error       string               `json:"error,omitempty"`
}

// Work is the other side of a trial: it makes the calls of the assignment on in and
// reports on out. It ends early when in does, since then the lab is gone.
func Work(in io.Reader, out io.Writer) error {
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.New("a worker reads its assignment from standard input: start it by `rpclab run`")
	}
	var a assignment
	if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	orders := make(chan string)
	go func() {
		defer cancel()
		defer close(orders)
		for lines.Scan() {
			select {
			case orders <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	say := json.NewEncoder(out)
	if err := a.work(ctx, orders, say.Encode); err != nil {
		return errors.Join(err, say.Encode(report{Error: err.Error()}))
	}
	return nil
}

func (a assignment) work(ctx context.Context, orders <-chan string, say func(any) error) error {
	library, err := lookupCaller(a.Caller)
	if err != nil {
		return err
	}
	var told notes
	target, err := a.target(ctx, told.add)
	if err != nil {
		return err
	}
	defer target.Close()
	session, err := library.Open(a.Job, target)
	if err != nil {
		return fmt.Errorf("caller %s: %w", a.Caller, err)
	}
	defer session.Close()
	if err := a.warm(ctx, session); err != nil {
		return err
	}
	if err := say(report{Ready: true}); err != nil {
		return err
	}
	for line := range orders {
		var o order
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if o.Clock {
			if err := say(report{Clock: time.Now()}); err != nil {
				return err
			}
			continue
		}
		m, err := o.load(ctx, session, say)
		if err != nil {
			return err
		}
		m.Told = told.all()
		if err := say(report{Measurement: &m}); err != nil {
			return err
		}
	}
	return nil
}

// target is what the caller dials.
func (a assignment) target(ctx context.Context, told route.Told) (caller.Target, error) {
	if a.Gateway != "" {
		return caller.Target{URI: "passthrough:///" + a.Gateway, Close: func() {}}, nil
	}
	way, err := route.Lookup(a.Route)
	if err != nil {
		return caller.Target{}, err
	}
	target, err := way.Open(ctx, a.Service, a.Settings, told)
	if err != nil {
		return target, fmt.Errorf("route %s: %w", a.Route, err)
	}
	return target, nil
}

// load makes one load.
func (o order) load(ctx context.Context, session caller.Session, say func(any) error) (m measure.Measurement, err error) {
	plan, err := o.Pace.Pace()
	if err != nil {
		return m, err
	}
	if o.Limit > 0 {
		limited, cancel := context.WithTimeout(ctx, max(0, time.Until(o.At))+o.Limit)
		defer cancel()
		ctx = limited
	}
	cue := measure.Cue{At: o.At}
	if o.Watch {
		cue.Seen = func(s measure.Snapshot) { _ = say(report{Snapshot: &s}) } // who is not there will miss more
	}
	before := measure.LookAtProcessors()
	recorder, started, err := session.Run(ctx, plan, cue)
	if err != nil {
		return m, err
	}
	around := measure.LookAtProcessors().Since(before)
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	m.Started, m.Throttled, m.Stolen = started, around.Throttled, around.StolenShare()
	m.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return m, err
}

// warm makes calls that nobody counts, at least one on every channel. The first lot
// connects; the second finds every backend that the channels know.
func (a assignment) warm(ctx context.Context, session caller.Session) error {
	calls := max(a.Warmup, a.Job.Channels.Pool)
	for range 2 {
		if a.Warmup == 0 {
			return nil
		}
		recorder, _, err := session.Run(ctx, pace.Burst{Calls: calls}, measure.Cue{})
		if err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		m, err := recorder.Measurement()
		if err != nil {
			return err
		}
		if len(m.Backends) == 0 && ctx.Err() == nil {
			return fmt.Errorf("warm-up: none of %d calls was answered: %v", calls, m.Samples)
		}
	}
	return nil
}

// notes are what the resolver told its client, in order; the same again is no news,
// so that channels which come and go do not fill it.
type notes struct {
	mu   sync.Mutex
	told []measure.Told
}

func (n *notes) add(at time.Time, addrs []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	addrs = slices.Sorted(slices.Values(addrs))
	if last := len(n.told) - 1; last >= 0 && slices.Equal(n.told[last].Addrs, addrs) {
		return
	}
	n.told = append(n.told, measure.Told{At: at, Addrs: addrs})
}

func (n *notes) all() []measure.Told {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}
