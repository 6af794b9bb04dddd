package lab

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/stdio"
)

// pipeProcess is a process of a cluster that runs in a goroutine of the test.
type pipeProcess struct {
	stdin  *io.PipeWriter
	stdout *io.PipeReader
	done   chan struct{}
	err    error
}

func (*pipeProcess) Name() string            { return "process-0" }
func (*pipeProcess) Host() string            { return "192.0.2.1" }
func (p *pipeProcess) Stdin() io.WriteCloser { return p.stdin }
func (p *pipeProcess) Stdout() io.Reader     { return p.stdout }
func (p *pipeProcess) Done() <-chan struct{} { return p.done }
func (p *pipeProcess) Err() error            { return p.err }
func (*pipeProcess) Log() string             { return "low battery" }
func (p *pipeProcess) Kill()                 { _ = p.stdin.Close(); <-p.done }

// startPipe runs a program that ends with its input.
func startPipe(program func(in io.Reader, out io.Writer) error) *pipeProcess {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	p := &pipeProcess{stdin: stdin, stdout: stdout, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = program(in, out)
		_ = in.Close()
		_ = out.Close()
	}()
	return p
}

// startCaller starts a caller whose clock is ahead of the lab's. It starts each load at the time
// that it is given, by its own clock, makes no calls, and sends the load to orders.
func startCaller(t *testing.T, label string, ahead time.Duration, orders chan<- loadRequest) *callerProcess {
	t.Helper()
	process := startPipe(func(in io.Reader, out io.Writer) error {
		return errors.Join(stdio.NewConn(in, out).Serve(t.Context(),
			clockMethod.Handle(func(context.Context, stdio.None) (time.Time, error) { return time.Now().Add(ahead), nil }),
			loadMethod.Handle(func(_ context.Context, o loadRequest) (measure.Measurement, error) {
				orders <- o
				m, err := measure.NewRecorder(0).Measurement()
				m.Started, m.ResolverUpdates = o.At, []measure.ResolverUpdate{{At: o.At}}
				return m, err
			})), errors.New("power failure"))
	})
	caller := newCallerProcess(cluster.Caller{Process: process}, label, func(measure.Snapshot) {})
	t.Cleanup(caller.kill)
	return caller
}

func TestCallersWhoseClocksDifferStartTogether(t *testing.T) {
	clocks := []time.Duration{0, time.Hour, -time.Minute}
	orders := make([]chan loadRequest, len(clocks))
	c := &callerGroup{live: newLiveTotals(len(clocks), nil)}
	for i, ahead := range clocks {
		orders[i] = make(chan loadRequest, 1)
		c.processes = append(c.processes, startCaller(t, "x", ahead, orders[i]))
	}
	start, err := c.readClocks(t.Context(), startDelay)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := c.load(t.Context(), start, loadRequest{Pace: pace.Spec{Burst: &pace.Burst{Calls: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i, ahead := range clocks {
		o := <-orders[i]
		calls += o.Pace.Burst.Calls
		// An offset is accurate to half a round trip, which takes less than a few seconds on any machine.
		if off := o.At.Sub(start.Add(ahead)); off.Abs() > 20*time.Second {
			t.Errorf("caller %d, whose clock is %v ahead, starts %v off", i, ahead, off)
		}
		if m := parts[i]; !m.Started.Equal(start) || !m.ResolverUpdates[0].At.Equal(start) {
			t.Errorf("caller %d started at %v and its resolver was updated at %v by the lab's clock; all started at %v", i, m.Started, m.ResolverUpdates[0].At, start)
		}
	}
	if calls != 8 {
		t.Errorf("the callers make %d calls of 8", calls)
	}
}

func TestTheErrorOfACallerThatExitedHasItsLastLines(t *testing.T) {
	orders := make(chan loadRequest, 2)
	c := &callerGroup{live: newLiveTotals(2, nil), processes: []*callerProcess{
		startCaller(t, "caller 1 of 2", 0, orders), startCaller(t, "caller 2 of 2", 0, orders),
	}}
	if _, err := c.readClocks(t.Context(), startDelay); err != nil {
		t.Fatal(err)
	}
	c.processes[1].Kill()
	_, err := c.readClocks(t.Context(), startDelay)
	if err == nil || !strings.HasPrefix(err.Error(), "caller 2 of 2 died: power failure") || !strings.HasSuffix(err.Error(), "; its last lines:\n  low battery") {
		t.Errorf("got %v", err)
	}
	_, err = c.load(t.Context(), time.Now().Add(-1500*time.Millisecond), loadRequest{})
	if err == nil || !regexp.MustCompile(`^caller 2 of 2 died \d+\.\d s into the load: `).MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestLiveTotalsWaitForASnapshotOfEveryCaller(t *testing.T) {
	var totals []Live
	sum := newLiveTotals(2, func(l Live) { totals = append(totals, l) })
	r := measure.NewRecorder(0)
	r.Record(measure.Call{Done: 100 * time.Millisecond, Backend: "a", Code: measure.OK})
	m, err := r.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	s := measure.Snapshot{
		Elapsed: time.Second, Span: time.Second, Calls: 30, Dropped: 1,
		Errors: map[string]uint64{"UNAVAILABLE": 2}, Backends: map[string]uint64{"a": 28}, Latency: m.Latency,
	}
	for second := 1; second <= 2; second++ {
		s.Elapsed = time.Duration(second) * time.Second
		sum.add(0, s)
		if len(totals) != second-1 {
			t.Fatalf("totals are %v without a snapshot of caller 1", totals)
		}
		sum.add(1, s)
	}
	if len(totals) != 2 || totals[1].Rate != 60 || totals[1].Failed != 12 || totals[1].P99.Round(time.Millisecond) != 100*time.Millisecond || totals[1].Elapsed != 2*time.Second {
		t.Errorf("totals are %+v", totals)
	}
	for _, l := range totals { // each total is of one second, except Failed
		if l.Backends["a"] != 56 || l.Errors["UNAVAILABLE"] != 4 || l.Dropped != 2 || l.Latency.TotalCount() != 2 || l.P50 != l.P99 {
			t.Errorf("a total is %+v", l)
		}
	}
}

// warmingSession is a user whose calls take shorter with each second, until they take a millisecond.
type warmingSession struct {
	slow  int // seconds until then
	ended func(after time.Duration)
}

func (s warmingSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	start, shards := time.Now(), measure.NewShards(1, 0)
	defer func() { s.ended(time.Since(start)) }()
	defer signal.Watch(start, shards.AddTo)()
	for ctx.Err() == nil {
		due := time.Since(start)
		took := time.Duration(1+5*max(0, s.slow-int(due.Seconds()))) * time.Millisecond
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return nil, start, nil
		}
		shards.Record(0, measure.Call{Due: due, Sent: due, Done: time.Since(start), Code: measure.OK})
	}
	return nil, start, nil
}

func (warmingSession) Close() error { return nil }

// A caller that is warm must not leave the servers with half of the load, which would be steady too.
func TestCallersWarmUpUntilAllAreSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make([]time.Duration, 2)
		c := &callerGroup{}
		for i, slow := range []int{0, 20} {
			session := &callerSession{calls: warmingSession{slow, func(after time.Duration) { took[i] = after }}}
			process := startPipe(func(in io.Reader, out io.Writer) error {
				conn := stdio.NewConn(in, out)
				session.send = conn.Send
				return conn.Serve(t.Context(), session.handlers()...)
			})
			c.processes = append(c.processes, newCallerProcess(cluster.Caller{Process: process}, "x", func(s measure.Snapshot) { c.received(i, s) }))
			t.Cleanup(c.processes[i].kill)
		}
		w, err := c.warmUpUntilSteady(t.Context(), steadyRequest{Pace: pace.Spec{Closed: &pace.Closed{Users: 2, Duration: time.Second}}, AtMost: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if !w.Steady || w.TookMS < 20e3 || w.TookMS > 30e3 || (took[0]-took[1]).Abs() > time.Second {
			t.Errorf("the warm-up was %+v and the callers ended after %v; want both to end when the second is steady, after 20 to 30 s", *w, took)
		}
	})
}
