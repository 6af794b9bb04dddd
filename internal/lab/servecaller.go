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
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process"
	"rpclab/internal/route"
)

// ServeCaller is the command `rpclab caller`: it makes the calls of the assignment on in and
// reports on out. It ends early when in ends, since the lab has ended then.
func ServeCaller(in io.Reader, out io.Writer) error {
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.New("this command reads an assignment from standard input: it is started by `rpclab run`")
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
	reports := json.NewEncoder(out)
	if err := a.run(ctx, orders, reports.Encode); err != nil {
		return errors.Join(err, reports.Encode(callerReport{Error: err.Error()}))
	}
	return nil
}

func (a assignment) run(ctx context.Context, orders <-chan string, report func(any) error) error {
	library, err := lookupLibrary(a.Caller)
	if err != nil {
		return err
	}
	var updates resolverLog
	target, err := a.target(ctx, updates.add)
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
	if err := report(callerReport{Ready: true}); err != nil {
		return err
	}
	for line := range orders {
		var o loadOrder
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if o.Clock {
			if err := report(callerReport{Clock: time.Now()}); err != nil {
				return err
			}
			continue
		}
		m, err := o.load(ctx, session, report)
		if err != nil {
			return err
		}
		m.ResolverUpdates = updates.all()
		if err := report(callerReport{Measurement: &m}); err != nil {
			return err
		}
	}
	return nil
}

// target is what the caller dials.
func (a assignment) target(ctx context.Context, update route.UpdateFunc) (caller.Target, error) {
	if a.Gateway != "" {
		return caller.Target{URI: "passthrough:///" + a.Gateway, Close: func() {}}, nil
	}
	rt, err := route.Lookup(a.Route)
	if err != nil {
		return caller.Target{}, err
	}
	target, err := rt.Open(ctx, a.Service, a.Settings, update)
	if err != nil {
		return target, fmt.Errorf("route %s: %w", a.Route, err)
	}
	return target, nil
}

// load makes one load and returns its measurement.
func (o loadOrder) load(ctx context.Context, session caller.Session, report func(any) error) (m measure.Measurement, err error) {
	plan, err := o.Pace.Pace()
	if err != nil {
		return m, err
	}
	if o.Limit > 0 {
		limited, cancel := context.WithTimeout(ctx, max(0, time.Until(o.At))+o.Limit)
		defer cancel()
		ctx = limited
	}
	start := measure.StartSignal{At: o.At}
	if o.Watch {
		start.OnSnapshot = func(s measure.Snapshot) { _ = report(callerReport{Snapshot: &s}) } // where the lab has ended, in ends too
	}
	before := measure.ReadProcessorTimes()
	recorder, started, err := session.Run(ctx, plan, start)
	if err != nil {
		return m, err
	}
	around := measure.ReadProcessorTimes().Since(before)
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	m.Started, m.Throttled, m.Stolen = started, around.Throttled, around.StolenShare()
	m.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return m, err
}

// warm makes calls that are not counted, at least one on every channel. The first batch
// connects; the second finds every backend that the channels know.
func (a assignment) warm(ctx context.Context, session caller.Session) error {
	calls := max(a.Warmup, a.Job.Channels.Pool)
	for range 2 {
		if a.Warmup == 0 {
			return nil
		}
		recorder, _, err := session.Run(ctx, pace.Burst{Calls: calls}, measure.StartSignal{})
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

// resolverLog is the sets of addresses that resolvers gave their channels, in order, without
// repetitions: otherwise a channel per call would fill it.
type resolverLog struct {
	mu   sync.Mutex
	told []measure.ResolverUpdate
}

func (n *resolverLog) add(at time.Time, addrs []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	addrs = slices.Sorted(slices.Values(addrs))
	if last := len(n.told) - 1; last >= 0 && slices.Equal(n.told[last].Addrs, addrs) {
		return
	}
	n.told = append(n.told, measure.ResolverUpdate{At: at, Addrs: addrs})
}

func (n *resolverLog) all() []measure.ResolverUpdate {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}
