package grpcgo_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/security"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// calculators run with keys; the target goes to them in turn, and clients get theirs.
type calculators struct {
	target    caller.Target
	policy    security.Policy
	authority *security.Authority

	mu      sync.Mutex
	conns   []net.Conn
	clients int
	timeout time.Duration // of a call; 0: a minute
}

func calculate(t *testing.T, policy security.Policy) *calculators {
	t.Helper()
	authority, err := security.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	secure := make(chan security.Party, 1)
	secure <- security.Party{Policy: policy, Keys: keys}
	c := &calculators{policy: policy, authority: authority}
	c.target, _ = serve(t, &workload.Server{ID: "b", Secure: secure})
	c.target.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
		return conn, err
	}
	return c
}

// cut ends every connection that there is.
func (c *calculators) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *calculators) session(t *testing.T, how caller.Calculations) caller.Session {
	t.Helper()
	c.clients++
	keys, err := c.authority.Client(fmt.Sprint("client-", c.clients), time.Hour) // each has its own answers
	if err != nil {
		t.Fatal(err)
	}
	how.Party = security.Party{Policy: c.policy, Keys: keys}
	return opened(t, caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: cmp.Or(c.timeout, time.Minute), Calculations: &how, Compress: c.policy.Signing,
		Workload: workload.Spec{Calculate: &workload.Calculate{X: 97, Y: 2, Operation: workload.IsPrime}},
	}, c.target)
}

// ways are those in which the study and the lab call.
var ways = []caller.Calculations{
	{Style: caller.Bidi}, {Style: caller.Bidi, Streams: 3}, {Style: caller.Bidi, Streams: 10}, {Style: caller.Bidi, Ahead: caller.Sent},
	{Style: caller.UnaryStream}, {Style: caller.UnaryStream, Ahead: caller.Taken}, {Style: caller.UnaryStream, Ahead: caller.Sent},
}

// The study lost one answer of 5,000.
func TestEveryCalculationIsAnsweredAtEveryNumberOfWorkers(t *testing.T) {
	calls := uint64(testkit.Many(5000))
	c := calculate(t, security.Policy{})
	for _, arm := range []struct {
		workers int
		how     caller.Calculations
	}{
		{1, ways[3]}, {1, ways[5]}, {3, ways[5]}, {10, ways[5]}, {1, ways[6]}, // as published, and paced alike
		{10, ways[0]}, {10, ways[1]}, {10, ways[2]}, {10, ways[4]},
	} {
		m := load(t, c.session(t, arm.how), pace.Closed{Users: arm.workers, Calls: calls})
		if m.Backends["b"] != calls || len(m.Errors) > 0 {
			t.Errorf("%+v, %d workers: %d of %d calculations are answered, errors %v", arm.how, arm.workers, m.Backends["b"], calls, m.Samples)
		}
	}
}

func TestEveryCalculationIsAnsweredUnderFullSecurity(t *testing.T) {
	c := calculate(t, security.Policy{Transport: security.MTLS, Tokens: true, Signing: true})
	for n, how := range ways {
		how.JWT, how.Metadata = []string{caller.Once, caller.Every}[n%2], 3
		m := load(t, c.session(t, how), pace.Closed{Users: 3, Calls: 50})
		if m.Backends["b"] != 50 || len(m.Errors) > 0 {
			t.Errorf("%+v: %d of 50 calculations are answered, errors %v", how.Style, m.Backends["b"], m.Samples)
		}
	}
}

// Every call of a stream that breaks is accounted for, and those after it are answered. An
// answer that was on its way when the stream broke is lost, and its call ends at its deadline.
func TestAStreamThatBreaksIsResumed(t *testing.T) {
	c := calculate(t, security.Policy{})
	c.timeout = 2 * time.Second
	for _, how := range ways[:6] {
		session := c.session(t, how)
		before := load(t, session, pace.Closed{Users: 10, Calls: 100})
		c.cut()
		// Those that were under way may fail; a channel needs its time to be connected again.
		var after measure.Measurement
		testkit.Await(t, "calculations are answered again", func() bool {
			after = load(t, session, pace.Closed{Users: 10, Calls: 100})
			failed := uint64(0)
			for _, n := range after.Errors {
				failed += n
			}
			if after.Backends["b"]+failed != 100 || after.Calls != 100 {
				t.Fatalf("%+v: of 100 calls %d are answered, and %v failed", how, after.Backends["b"], after.Errors)
			}
			return failed == 0
		})
		if before.Backends["b"] != 100 {
			t.Errorf("%+v: before, %v are answered", how, before.Backends)
		}
	}
}

// Both sides are in this process. A full million is a run of its own: see the decision on streams.
func TestMemoryIsConstantOverManyMessages(t *testing.T) {
	calls := uint64(testkit.Many(20_000))
	c := calculate(t, security.Policy{})
	for _, style := range caller.Styles {
		session := c.session(t, caller.Calculations{Style: style})
		heap := func() uint64 {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			return now.HeapAlloc
		}
		load(t, session, pace.Closed{Users: 10, Calls: calls / 4})
		before := heap()
		m := load(t, session, pace.Closed{Users: 10, Calls: calls})
		if after := heap(); after > before+8<<20 {
			t.Errorf("%s: the heap grew from %d to %d bytes", style, before, after)
		}
		if m.Backends["b"] != calls {
			t.Errorf("%s: %d of %d are answered: %v", style, m.Backends["b"], calls, m.Errors)
		}
	}
}

func TestCalculationsNeedAStyleAndAnOperation(t *testing.T) {
	job := caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Workload: workload.Spec{Calculate: &workload.Calculate{Operation: workload.Add}},
		Calculations: &caller.Calculations{Party: security.Party{Keys: security.Keys{Name: "client"}}},
	}
	if _, err := (grpcgo.Caller{}).Open(job, caller.Target{URI: "passthrough:///x"}); err == nil {
		t.Error("no style is one")
	}
	job.Calculations.Style, job.Workload.Calculate.Operation = caller.Bidi, "divide"
	if _, err := (grpcgo.Caller{}).Open(job, caller.Target{URI: "passthrough:///x"}); err == nil {
		t.Error("there is a division")
	}
}
