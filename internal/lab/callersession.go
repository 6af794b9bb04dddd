package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route"
)

// callerSession is the caller's end: it runs in the process of `rpclab caller` and makes the calls of
// one assignment.
type callerSession struct {
	send    func(event any) error
	target  caller.Target
	calls   caller.Session // nil: not open
	updates resolverLog
}

func (s *callerSession) handlers() []stdio.Handler {
	return []stdio.Handler{openMethod.Handle(s.open), clockMethod.Handle(s.clock), loadMethod.Handle(s.load)}
}

func (s *callerSession) close() (err error) {
	if s.calls != nil {
		err = s.calls.Close()
	}
	if s.target.Close != nil {
		s.target.Close()
	}
	return err
}

func (s *callerSession) open(ctx context.Context, a assignment) (none stdio.None, err error) {
	library, err := lookupLibrary(a.Caller)
	if err != nil {
		return none, err
	}
	if s.target, err = a.target(ctx, s.updates.add); err != nil {
		return none, err
	}
	if s.calls, err = library.Open(a.Job, s.target); err != nil {
		return none, fmt.Errorf("caller %s: %w", a.Caller, err)
	}
	return none, a.warm(ctx, s.calls)
}

// target returns the target that the caller dials.
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

// warm makes calls that are not counted, at least one on every channel. The first batch connects
// the channels; the second reaches every backend that they know.
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

func (s *callerSession) clock(context.Context, stdio.None) (time.Time, error) { return time.Now(), nil }

// load makes one load and returns its measurement.
func (s *callerSession) load(ctx context.Context, o loadRequest) (m measure.Measurement, err error) {
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
		start.OnSnapshot = func(snapshot measure.Snapshot) { _ = s.send(snapshot) } // an error means that the lab has ended
	}
	before := measure.ReadProcessorTimes()
	recorder, started, err := s.calls.Run(ctx, plan, start)
	if err != nil {
		return m, err
	}
	during := measure.ReadProcessorTimes().Since(before)
	if m, err = recorder.Measurement(); err != nil {
		return m, err
	}
	m.ResolverUpdates = s.updates.all()
	m.Started, m.Throttled, m.Stolen = started, during.Throttled, during.StolenShare()
	m.MaxRSS, err = measure.MaxRSS(os.Getpid())
	return m, err
}

// resolverLog stores the sets of addresses that resolvers send to their channels, in order. It omits
// repetitions, of which a channel per call causes many.
type resolverLog struct {
	mu      sync.Mutex
	updates []measure.ResolverUpdate
}

func (l *resolverLog) add(at time.Time, addrs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	addrs = slices.Sorted(slices.Values(addrs))
	if last := len(l.updates) - 1; last >= 0 && slices.Equal(l.updates[last].Addrs, addrs) {
		return
	}
	l.updates = append(l.updates, measure.ResolverUpdate{At: at, Addrs: addrs})
}

func (l *resolverLog) all() []measure.ResolverUpdate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.updates
}
