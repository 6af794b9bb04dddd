package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// elsewhere is a caller whose clock differs. It begins each load at the time that it is
// told, by that clock.
type elsewhere struct {
	orders  *io.PipeWriter
	reports *io.PipeReader
	done    chan struct{}
}

func (elsewhere) Name() string            { return "elsewhere" }
func (elsewhere) Host() string            { return "192.0.2.1" }
func (e elsewhere) Stdin() io.WriteCloser { return e.orders }
func (e elsewhere) Stdout() io.Reader     { return e.reports }
func (e elsewhere) Done() <-chan struct{} { return e.done }
func (elsewhere) Err() error              { return errors.New("lost") }
func (elsewhere) Log() string             { return "no more power" }
func (e elsewhere) Kill()                 { e.orders.Close(); <-e.done }
func member(e elsewhere) cluster.Caller   { return cluster.Caller{Process: e} }
func ignore(measure.Snapshot)             {}

func newElsewhere(t *testing.T, ahead time.Duration, told chan<- loadOrder) elsewhere {
	t.Helper()
	in, orders := io.Pipe()
	reports, out := io.Pipe()
	e := elsewhere{orders, reports, make(chan struct{})}
	go func() {
		defer close(e.done)
		defer out.Close()
		say := json.NewEncoder(out)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var o loadOrder
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				t.Error(err)
			}
			if o.Clock {
				_ = say.Encode(callerReport{Clock: time.Now().Add(ahead)})
				continue
			}
			told <- o
			r := measure.NewRecorder(0)
			m, err := r.Measurement()
			if err != nil {
				t.Error(err)
			}
			m.Started, m.ResolverUpdates = o.At, []measure.ResolverUpdate{{At: o.At}}
			_ = say.Encode(callerReport{Measurement: &m})
		}
	}()
	return e
}

func TestCallersWithOtherClocksBeginTogether(t *testing.T) {
	told := []chan loadOrder{make(chan loadOrder, 1), make(chan loadOrder, 1), make(chan loadOrder, 1)}
	c := &callerGroup{live: newLiveTotals(len(told), nil)}
	for i, ahead := range []time.Duration{0, time.Hour, -time.Minute} {
		c.processes = append(c.processes, newCallerProcess(member(newElsewhere(t, ahead, told[i])), "x", ignore))
	}
	defer c.kill()
	start, err := c.start(t.Context(), loadOrder{Pace: pace.Spec{Burst: &pace.Burst{Calls: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i, ahead := range []time.Duration{0, time.Hour, -time.Minute} {
		o := <-told[i]
		calls += o.Pace.Burst.Calls
		// What a clock is ahead is known to half a round trip, which is short of some seconds anywhere.
		if off := o.At.Sub(start.Add(ahead)); off.Abs() > 20*time.Second {
			t.Errorf("caller %d, whose clock is %v ahead, begins %v off", i, ahead, off)
		}
	}
	if calls != 8 {
		t.Errorf("%d calls were ordered of 8", calls)
	}
	parts, err := c.measurements(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range parts {
		if !m.Started.Equal(start) || !m.ResolverUpdates[0].At.Equal(start) {
			t.Errorf("caller %d began at %v and was told at %v by the lab's clock; all began at %v", i, m.Started, m.ResolverUpdates[0].At, start)
		}
	}
}

func TestACallerThatIsLostIsNamedWithItsLastLines(t *testing.T) {
	told := make(chan loadOrder, 2)
	lost := newElsewhere(t, 0, told)
	c := &callerGroup{live: newLiveTotals(2, nil), processes: []*callerProcess{
		newCallerProcess(member(newElsewhere(t, 0, told)), "caller 1 of 2", ignore),
		newCallerProcess(member(lost), "caller 2 of 2", ignore),
	}}
	defer c.kill()
	lost.Kill()
	_, err := c.start(t.Context(), loadOrder{})
	if err == nil || !strings.Contains(err.Error(), "caller 2 of 2 died: lost") || !strings.Contains(err.Error(), "no more power") {
		t.Errorf("got %v", err)
	}
}

func TestWhatGoesOnIsToldOnceEveryCallerHasSaid(t *testing.T) {
	var told []Live
	w := newLiveTotals(2, func(l Live) { told = append(told, l) })
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
		w.add(0, s)
		if len(told) != second-1 {
			t.Fatalf("told %v before caller 1 said anything", told)
		}
		w.add(1, s)
	}
	if len(told) != 2 || told[1].Rate != 60 || told[1].Failed != 12 || told[1].P99.Round(time.Millisecond) != 100*time.Millisecond || told[1].Elapsed != 2*time.Second {
		t.Errorf("told %+v", told)
	}
	for _, l := range told { // each of its own second, not of all before
		if l.Backends["a"] != 56 || l.Errors["UNAVAILABLE"] != 4 || l.Dropped != 2 || l.Latency.TotalCount() != 2 || l.P50 != l.P99 {
			t.Errorf("told %+v", l)
		}
	}
}
