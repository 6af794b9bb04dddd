package calculator_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/wire"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/security"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// callers support the workload calculate.
var callers = map[string]caller.Caller{"grpc-go": grpcgo.Caller{}, "wire": wire.Caller{}}

// calculators are backends with keys. Clients call them in turn, each with its own keys.
type calculators struct {
	target    caller.Target
	policy    security.Policy
	authority *security.Authority
	timeout   time.Duration // of a call; 0: a minute
	servers   []*workload.Server
	stop      []func() // stops each server gracefully

	mu      sync.Mutex
	conns   []net.Conn
	clients int
}

func startCalculators(t *testing.T, policy security.Policy, backends ...string) *calculators {
	t.Helper()
	authority, err := security.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	service := &calculators{policy: policy, authority: authority}
	var all []resolver.Endpoint
	for _, id := range backends {
		secure := make(chan security.Config, 1)
		secure <- security.Config{Policy: policy, Keys: keys}
		server := &workload.Server{ID: id, Security: secure, Log: slog.New(slog.DiscardHandler)}
		addr, stop := serve(t, server)
		all, service.servers, service.stop = append(all, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}), append(service.servers, server), append(service.stop, stop)
	}
	builder := manual.NewBuilderWithScheme("manual")
	builder.InitialState(resolver.State{Endpoints: all})
	service.target = caller.Target{
		URI: "manual:///calculator", Resolvers: []resolver.Builder{builder}, ServiceConfig: `{"loadBalancingConfig": [{"round_robin": {}}]}`,
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			service.mu.Lock()
			defer service.mu.Unlock()
			if err == nil {
				service.conns = append(service.conns, conn)
			}
			return conn, err
		},
	}
	return service
}

func serve(t *testing.T, server *workload.Server) (addr string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(ctx, listener) })
	stop = func() {
		cancel()
		served.Wait()
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// served returns how many calls and messages the backends have begun.
func (c *calculators) served(t *testing.T) (all int) {
	t.Helper()
	for _, s := range c.servers {
		var text strings.Builder
		s.WriteCount(&text)
		n, err := strconv.Atoi(strings.TrimSpace(text.String()))
		if err != nil {
			t.Error(err)
		}
		all += n
	}
	return all
}

// closeConnections closes every open connection.
func (c *calculators) closeConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *calculators) job(t *testing.T, options caller.CalculatorOptions) caller.Job {
	t.Helper()
	c.clients++
	keys, err := c.authority.Client(fmt.Sprint("client-", c.clients), time.Hour) // responses belong to a client name
	if err != nil {
		t.Fatal(err)
	}
	options.Security = security.Config{Policy: c.policy, Keys: keys}
	return caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: cmp.Or(c.timeout, time.Minute), Calculator: &options,
		Workload: workload.Spec{Calculate: &workload.Calculate{X: 97, Y: 2, Operation: workload.IsPrime}},
	}
}

func (c *calculators) session(t *testing.T, by caller.Caller, job caller.Job) caller.Session {
	t.Helper()
	return callertest.Open(t, by, job, c.target)
}

// optionsOf returns the calculator options that a caller supports. Only grpc-go supports ahead.
func optionsOf(name string) []caller.CalculatorOptions {
	all := []caller.CalculatorOptions{{Style: caller.Bidi}, {Style: caller.Bidi, Streams: 3}, {Style: caller.Bidi, Streams: 10}, {Style: caller.UnaryStream}}
	if name == "grpc-go" {
		all = append(all, caller.CalculatorOptions{Style: caller.Bidi, Ahead: caller.WhenSent},
			caller.CalculatorOptions{Style: caller.UnaryStream, Ahead: caller.WhenReceived}, caller.CalculatorOptions{Style: caller.UnaryStream, Ahead: caller.WhenSent})
	}
	return all
}

// reduced returns n, or a tenth of it with -short or the race detector.
func reduced(n int) uint64 {
	if testing.Short() {
		return uint64(n / 10)
	}
	return uint64(testkit.ReducedUnderRace(n))
}

// The published client lost one of 5,000 responses.
func TestEveryCalculationIsAnsweredAtEveryNumberOfWorkers(t *testing.T) {
	calls := reduced(5000)
	service := startCalculators(t, security.Policy{}, "b")
	for name, by := range callers {
		for _, options := range optionsOf(name) {
			for _, workers := range []int{1, 3, 10} {
				m := callertest.Load(t, service.session(t, by, service.job(t, options)), pace.Closed{Users: workers, Calls: calls})
				if m.Backends["b"] != calls || len(m.Errors) > 0 {
					t.Errorf("%s, %+v, %d workers: %d of %d calculations are answered, errors %v; want all", name, options, workers, m.Backends["b"], calls, m.Samples)
				}
			}
		}
	}
}

func TestEveryCalculationIsAnsweredUnderFullSecurity(t *testing.T) {
	service := startCalculators(t, security.Policy{Transport: security.MTLS, Tokens: true, Signing: true}, "b")
	for name, by := range callers {
		for n, options := range optionsOf(name) {
			options.JWT, options.Metadata = []string{caller.TokenOnce, caller.TokenPerCall}[n%2], 3
			job := service.job(t, options)
			job.Compress = name == "grpc-go"
			m := callertest.Load(t, service.session(t, by, job), pace.Closed{Users: 3, Calls: 50})
			if m.Backends["b"] != 50 || len(m.Errors) > 0 {
				t.Errorf("%s, %s: %d of 50 calculations are answered, errors %v; want all", name, options.Style, m.Backends["b"], m.Samples)
			}
		}
	}
}

func TestUnaryCallsReachAllBackendsAndAStreamOneBackend(t *testing.T) {
	service := startCalculators(t, security.Policy{}, "a", "b", "c")
	for name, by := range callers {
		for _, arm := range []struct {
			options  caller.CalculatorOptions
			channels caller.Channels
			backends int
		}{
			{caller.CalculatorOptions{Style: caller.UnaryStream}, caller.Channels{Mode: caller.Shared}, 3},
			{caller.CalculatorOptions{Style: caller.UnaryStream}, caller.Channels{Mode: caller.Pool, Pool: 2}, 3},
			{caller.CalculatorOptions{Style: caller.Bidi}, caller.Channels{Mode: caller.Shared}, 1},
		} {
			job := service.job(t, arm.options)
			job.Channels = arm.channels
			session := service.session(t, by, job)
			// Connections are ready one after the other, so the first calls may reach one backend only.
			testkit.Await(t, fmt.Sprintf("%s, %s: calls reach %d backends in turn", name, arm.options.Style, arm.backends), func() bool {
				got := callertest.Load(t, session, pace.Closed{Users: 5, Calls: 300})
				if len(got.Errors) > 0 {
					t.Fatalf("%s, %s: errors %v, want none", name, arm.options.Style, got.Samples)
				}
				least := slices.Min(slices.Collect(maps.Values(got.Backends)))
				return len(got.Backends) == arm.backends && (arm.channels.Pool > 0 || least >= uint64(300/arm.backends/2))
			})
		}
	}
}

// Blocks with fewer calls than streams, or than channels of a pool, use all of them in turn.
func TestBlocksUseAllStreams(t *testing.T) {
	service := startCalculators(t, security.Policy{}, "a", "b", "c")
	for name, by := range callers {
		var session caller.Session
		// A stream picks its backend when it opens, perhaps before the channel has connected to all.
		testkit.Await(t, name+": each stream has a backend of its own", func() bool {
			session = service.session(t, by, service.job(t, caller.CalculatorOptions{Style: caller.Bidi, Streams: 3}))
			return len(callertest.Load(t, session, pace.Rate{PerSecond: 50, Duration: 60 * time.Millisecond, Max: 3}).Backends) == 3
		})
		calls := map[string]uint64{}
		for range 6 {
			for backend, n := range callertest.Load(t, session, pace.Sequence(1)).Backends {
				calls[backend] += n
			}
		}
		if want := map[string]uint64{"a": 2, "b": 2, "c": 2}; !maps.Equal(calls, want) {
			t.Errorf("%s: 6 blocks of one call have the backends %v, want %v", name, calls, want)
		}
	}
}

func TestABackendThatStopsAnswersItsCallsInFlight(t *testing.T) {
	for name, by := range callers {
		for _, style := range caller.Styles {
			t.Run(name+" "+style, func(t *testing.T) {
				t.Parallel()
				service := startCalculators(t, security.Policy{}, "a", "b")
				session := service.session(t, by, service.job(t, caller.CalculatorOptions{Style: style, Streams: map[string]int{caller.Bidi: 4}[style]}))
				callertest.Load(t, session, pace.Closed{Users: 4, Calls: 100})
				before := service.served(t)
				loaded := make(chan measure.Measurement, 1)
				go func() {
					defer close(loaded)
					loaded <- callertest.Load(t, session, pace.Rate{PerSecond: 500, Duration: time.Second, Max: 1000})
				}()
				testkit.Await(t, "calls are in flight", func() bool { return service.served(t) > before+100 })
				service.stop[0]()
				got := <-loaded
				// grpc-go does not notify an open stream of GOAWAY: requests in flight at the end of the
				// stream fail.
				lost := got.Errors["UNAVAILABLE"]
				if answered := got.Backends["a"] + got.Backends["b"]; answered+lost != 500 || lost > 0 && (name != "grpc-go" || style != caller.Bidi) {
					t.Errorf("backends %v, errors %v %v; want 500 calls, none lost except on bidirectional streams of grpc-go", got.Backends, got.Errors, got.Samples)
				}
				after := callertest.Load(t, session, pace.Closed{Users: 4, Calls: 100})
				if after.Backends["b"] != 100 {
					t.Errorf("after the stop backends %v, errors %v %v; want 100 calls by b", after.Backends, after.Errors, after.Samples)
				}
			})
		}
	}
}

// Every call of a broken stream is counted, and later calls are answered. A response that was in
// flight when the stream broke is lost, and its call ends at its deadline.
func TestABrokenStreamIsReplaced(t *testing.T) {
	service := startCalculators(t, security.Policy{}, "b")
	service.timeout = 2 * time.Second
	for name, by := range callers {
		for _, options := range optionsOf(name) {
			breakStreams(t, service, service.session(t, by, service.job(t, options)), name, options)
		}
	}
}

func breakStreams(t *testing.T, service *calculators, session caller.Session, name string, options caller.CalculatorOptions) {
	t.Helper()
	if m := callertest.Load(t, session, pace.Closed{Users: 10, Calls: 100}); m.Backends["b"] != 100 {
		t.Errorf("%s, %+v: before the break the backends are %v, want 100 calls by b", name, options, m.Backends)
	}
	service.closeConnections()
	// Calls may fail until the channel has connected again.
	testkit.Await(t, "calculations are answered again", func() bool {
		got := callertest.Load(t, session, pace.Closed{Users: 10, Calls: 100})
		failed := uint64(0)
		for _, n := range got.Errors {
			failed += n
		}
		if got.Backends["b"]+failed != 100 || got.Calls != 100 {
			t.Fatalf("%s, %+v: %d calls are answered and %v failed, want 100 calls in total", name, options, got.Backends["b"], got.Errors)
		}
		return failed == 0
	})
}

// Client and server run in this process. docs/decisions has a run of a million messages.
func TestMemoryIsConstantOverManyMessages(t *testing.T) {
	calls := reduced(20_000)
	c := startCalculators(t, security.Policy{}, "b")
	for name, by := range callers {
		for _, style := range caller.Styles {
			session := c.session(t, by, c.job(t, caller.CalculatorOptions{Style: style}))
			heap := func() uint64 {
				runtime.GC()
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				return now.HeapAlloc
			}
			callertest.Load(t, session, pace.Closed{Users: 10, Calls: calls / 4})
			before := heap()
			got := callertest.Load(t, session, pace.Closed{Users: 10, Calls: calls})
			if after := heap(); after > before+8<<20 {
				t.Errorf("%s, %s: the heap grew from %d to %d bytes, want at most 8 MiB more", name, style, before, after)
			}
			if got.Backends["b"] != calls {
				t.Errorf("%s, %s: %d of %d calls are answered, errors %v; want all", name, style, got.Backends["b"], calls, got.Errors)
			}
		}
	}
}

func TestOpenRejectsInvalidCalculations(t *testing.T) {
	service := startCalculators(t, security.Policy{}, "b")
	for name, by := range callers {
		for what, change := range map[string]func(*caller.Job){
			"no style":       func(j *caller.Job) { j.Calculator.Style = "" },
			"a division":     func(j *caller.Job) { j.Workload.Calculate.Operation = "divide" },
			"no client name": func(j *caller.Job) { j.Calculator.Security.Keys.Name = "" },
			"greetings":      func(j *caller.Job) { j.Workload = workload.Spec{Greet: &workload.Greet{}} },
			"no channel":     func(j *caller.Job) { j.Channels.Mode = caller.PerCall },
		} {
			job := service.job(t, caller.CalculatorOptions{Style: caller.Bidi})
			change(&job)
			if session, err := by.Open(job, service.target); err == nil {
				t.Errorf("%s opened a session for a job with %s, want an error", name, what)
				_ = session.Close()
			}
		}
	}
	job := service.job(t, caller.CalculatorOptions{Style: caller.UnaryStream, Ahead: caller.WhenReceived})
	if _, err := (wire.Caller{}).Open(job, service.target); err == nil || !strings.Contains(err.Error(), "use grpc-go") {
		t.Errorf("the caller wire with ahead: the error is %v, want one that says use grpc-go", err)
	}
}
