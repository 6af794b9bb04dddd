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
	"rpclab/internal/process"
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
	return []stdio.Handler{openMethod.Handle(s.open), clockMethod.Handle(s.clock), steadyMethod.Handle(s.steady), loadMethod.Handle(s.load)}
}

func (s *callerSession) close() (err error) {
	if s.calls != nil {
		err = s.calls.Close()
	}
	if s.target.Close != nil {
		s.target.Close()
	}
	s.calls, s.target = nil, caller.Target{}
	return err
}

// open warms up for an assignment. It ends the one before.
func (s *callerSession) open(ctx context.Context, a assignment) (none stdio.None, err error) {
	if err := s.close(); err != nil {
		return none, err
	}
	library, err := lookupLibrary(a.Caller)
	if err != nil {
		return none, err
	}
	if err := process.Limit(a.Job.Limits.OpenFiles, a.Job.Limits.Memory); err != nil {
		return none, err
	}
	if s.target, err = a.target(ctx, s.updates.add); err != nil {
		return none, err
	}
	if s.calls, err = library.Open(a.Job, s.target); err != nil {
		return none, fmt.Errorf("caller %s: %w", a.Caller, err)
	}
	return none, s.warm(ctx, a)
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

// How long a caller that balances calls itself makes warm-up calls for a backend that has not answered
// yet, and how long it waits between two batches.
const (
	warmupPatience = 5 * time.Second
	warmupPause    = 10 * time.Millisecond
)

// warm makes calls that are not counted, at least one on every channel. The first batch connects
// the channels; the second calls the backends to which they are connected then. More follow until
// every known backend has answered, and while every call exceeds its deadline: a connection may take longer to open.
func (s *callerSession) warm(ctx context.Context, a assignment) error {
	if a.Warmup == 0 {
		return nil
	}
	answered, end := map[string]bool{}, time.Now().Add(warmupPatience)
	for batch := 1; ; batch++ {
		calls := max(a.Warmup, a.Job.Channels.Pool)
		m, err := warmUpOnce(ctx, s.calls, calls)
		if err != nil {
			return err
		}
		late, code := time.Now().After(end), commonCode(m)
		if code != measure.OK && ctx.Err() == nil && (late || code != deadlineExceeded) {
			return fmt.Errorf("warm-up: all %d calls failed: %s: %s", calls, code, m.Samples[code])
		}
		for id := range m.Backends {
			answered[id] = true
		}
		known := 0
		if a.EachBackend {
			known = s.updates.known()
		}
		if batch >= 2 && code == measure.OK && (len(answered) >= known || late) {
			return nil
		}
		if batch >= 2 {
			select {
			case <-time.After(warmupPause):
			case <-ctx.Done():
				return nil // the load will say so
			}
		}
	}
}

// warmUpOnce makes one batch of calls.
func warmUpOnce(ctx context.Context, session caller.Session, calls int) (m measure.Measurement, err error) {
	recorder, _, err := session.Run(ctx, pace.Burst{Calls: calls}, measure.StartSignal{})
	if err != nil {
		return m, fmt.Errorf("warm-up: %w", err)
	}
	return recorder.Measurement()
}

var deadlineExceeded = caller.TransportCode(context.DeadlineExceeded)

// commonCode returns OK if a call was answered, and else the most frequent code, or DEADLINE_EXCEEDED if it is as
// frequent.
func commonCode(m measure.Measurement) (code string) {
	failed := uint64(0)
	for c, n := range m.Errors {
		failed += n
		if most := m.Errors[code]; n > most || n == most && c == deadlineExceeded {
			code = c
		}
	}
	if failed < m.Calls {
		return measure.OK
	}
	return code
}

func (s *callerSession) clock(context.Context, stdio.None) (time.Time, error) { return time.Now(), nil }

// steady makes calls like a load, and sends what it measures, until the lab finishes it.
func (s *callerSession) steady(ctx context.Context, o steadyRequest) (none stdio.None, err error) {
	plan, err := o.Pace.Pace()
	if err != nil {
		return none, err
	}
	ctx, cancel := stdio.UntilFinished(ctx)
	defer cancel()
	return none, warmUpLike(ctx, s.calls, plan, o.AtMost, func(second measure.Snapshot) { _ = s.send(second) }) // an error means that the lab has ended
}

// load makes one load and returns its measurement.
func (s *callerSession) load(ctx context.Context, o loadRequest) (m measure.Measurement, err error) {
	plan, err := o.Pace.Pace()
	if err != nil {
		return m, err
	}
	ctx, cancel := stdio.UntilFinished(ctx)
	defer cancel()
	if o.Limit > 0 {
		limited, cancel := context.WithTimeout(ctx, max(0, time.Until(o.At))+o.Limit)
		defer cancel()
		ctx = limited
	}
	start := measure.StartSignal{At: o.At, Continues: true}
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
	if program, other := s.calls.(interface{ Pid() int }); other {
		_, m.MaxRSS = measure.TreeUsage(program.Pid()) // 0 if it has ended: not known
		return m, nil
	}
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

// known returns the number of addresses in the last update.
func (l *resolverLog) known() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.updates) == 0 {
		return 0
	}
	return len(l.updates[len(l.updates)-1].Addrs)
}

func (l *resolverLog) all() []measure.ResolverUpdate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.updates
}
