package local_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

// channelTo opens a channel to one backend until the test ends.
func channelTo(t *testing.T, e cluster.Endpoint) rpclabv1.GreeterClient {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+e.Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return rpclabv1.NewGreeterClient(channel)
}

// hello makes a call with a deadline of a second.
func hello(t *testing.T, client rpclabv1.GreeterClient) error {
	return helloWithin(t, client, time.Second)
}

// longHello makes a call whose deadline is later than the events of the test.
func longHello(t *testing.T, client rpclabv1.GreeterClient) error {
	return helloWithin(t, client, time.Minute)
}

func helloWithin(t *testing.T, client rpclabv1.GreeterClient, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, err := client.SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"})
	return err
}

func recoverAll(t *testing.T, d cluster.Deployment) {
	t.Helper()
	if err := d.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStoppedBackendIsReplacedAtOnceAndFinishesItsCalls(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2, Drain: 5 * time.Second, Args: []string{"--delay", "100ms"}})
	oldest := ready(d)[0]
	inFlight := make(chan error, 1)
	client := channelTo(t, oldest)
	go func() { inFlight <- longHello(t, client) }()
	testkit.Await(t, "a call is in flight", func() bool { return d.CallCounts()["greeter-0"] == 1 })
	must(t)(d.Stop(t.Context(), 1))
	if now, _ := d.Endpoints().Current(); !now.Endpoints[0].Terminating {
		t.Error("a stopped backend is not published as terminating")
	}
	if err := errors.Join(<-inFlight, longHello(t, client)); err != nil {
		t.Errorf("a call fails while the backend drains: %v", err)
	}
	testkit.Await(t, "greeter-2 replaces greeter-0", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2"}) })
	testkit.Await(t, "greeter-0 is removed", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) == 2 })
	if failures := d.Failures(); len(failures) != 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
}

func TestFailingBackendAnswersAtOnceAndStaysReady(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2, Args: []string{"--delay", "10s"}})
	must(t)(d.Fail(t.Context(), 1, "RESOURCE_EXHAUSTED", 1))
	client := channelTo(t, ready(d)[0])
	testkit.Await(t, "the backend answers RESOURCE_EXHAUSTED", func() bool { return status.Code(hello(t, client)) == codes.ResourceExhausted })
	if len(ready(d)) != 2 {
		t.Errorf("ready are %v, want both backends", ids(ready(d)))
	}
	recoverAll(t, d)
	testkit.Await(t, "the backend delays its answers again", func() bool { return status.Code(hello(t, client)) == codes.DeadlineExceeded })
	if _, err := d.Fail(t.Context(), 1, "NO_SUCH_CODE", 1); err == nil {
		t.Error("Fail accepted the code NO_SUCH_CODE, want an error")
	}
}

func TestSlowByAFactorMultipliesTheDelay(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1, Args: []string{"--delay", "20ms"}})
	must(t)(d.Slow(t.Context(), 1, 0, 10))
	testkit.Await(t, "answers take 200ms", func() bool {
		_, _, took := greet(t, ready(d)[0])
		return took >= 200*time.Millisecond
	})
	must(t)(d.Slow(t.Context(), 1, 0, 0))
	testkit.Await(t, "answers take 20ms again", func() bool {
		_, _, took := greet(t, ready(d)[0])
		return took < 150*time.Millisecond
	})
}

func TestFlappingBackendIsNotReplaced(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	must(t)(d.Flap(t.Context(), 1, 1500*time.Millisecond))
	for range 2 {
		awaitReady(t, d, 1)
		awaitReady(t, d, 2)
	}
	must(t)(d.Flap(t.Context(), 2, time.Hour))
	awaitReady(t, d, 0)
	recoverAll(t, d)
	if got := ids(awaitReady(t, d, 2)); !slices.Equal(got, []string{"greeter-0", "greeter-1"}) {
		t.Errorf("ready are %v, want greeter-0 and greeter-1: a backend that does not serve for a while is not replaced", got)
	}
}

func TestCallCountsSinceResetUsage(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3})
	greet(t, ready(d)[0])
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	for i, e := range ready(d) {
		for range 10 * (i + 1) {
			greet(t, e)
		}
	}
	want := map[string]uint64{"greeter-0": 10, "greeter-1": 20, "greeter-2": 30}
	check := func(when string) {
		t.Helper()
		got := d.CallCounts()
		for id, calls := range want {
			if count, ok := got[id]; !ok || count != calls {
				t.Errorf("%s: %s counts %d calls (known: %v), want %d", when, id, count, ok, calls)
			}
		}
	}
	check("before an event")
	must(t)(d.Stop(t.Context(), 1))
	testkit.Await(t, "greeter-0 is replaced", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2", "greeter-3"}) })
	testkit.Await(t, "the last count of greeter-0 is known", func() bool { _, known := d.CallCounts()["greeter-0"]; return known })
	check("after a backend was stopped")
	must(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-1 is replaced", func() bool {
		return slices.Equal(ids(ready(d)), []string{"greeter-2", "greeter-3", "greeter-4"})
	})
	must(t)(d.Pause(t.Context(), 1))
	got := d.CallCounts()
	_, killed := got["greeter-1"]
	_, paused := got["greeter-2"]
	if killed || paused || got["greeter-0"] != 10 {
		t.Errorf("the counts are %v, want greeter-0 with 10 and neither the killed greeter-1 nor the paused greeter-2", got)
	}
}

func TestCallCountsOmitABackendThatResetUsageCouldNotAsk(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	greet(t, ready(d)[0])
	must(t)(d.Pause(t.Context(), 1))
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.CallCounts(); !maps.Equal(got, map[string]uint64{"greeter-1": 0}) {
		t.Errorf("the counts are %v, want only greeter-1: greeter-0 would include calls from before ResetUsage", got)
	}
}

func TestDNSFaultLastsUntilRecover(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, d.Service().DNS)
	}}
	lookup := func() (addrs []string, took time.Duration) {
		t.Helper()
		began := time.Now()
		addrs, err := resolver.LookupHost(t.Context(), d.Service().Host+".")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(addrs)
		return addrs, time.Since(began)
	}
	correct, _ := lookup()
	if err := d.SetDNSFault(2*time.Second, true); err != nil {
		t.Fatal(err)
	}
	wrong, took := lookup()
	if took < 2*time.Second || len(wrong) != 2 {
		t.Errorf("the name server answered %v in %v, want 2 addresses after 2 s", wrong, took)
	}
	for _, addr := range wrong {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(addr, "50051"), time.Second)
		if err == nil {
			conn.Close()
			t.Errorf("a server listens at %s, want an address without one", addr)
		}
	}
	recoverAll(t, d)
	if now, took := lookup(); !slices.Equal(now, correct) || took >= 2*time.Second {
		t.Errorf("after Recover the name server answered %v in %v, want %v in less than 2 s", now, took, correct)
	}
}

func TestBackendsAreAssignedToZonesInTurn(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3, Zones: 2})
	for i, want := range []string{"zone-0", "zone-1", "zone-0"} {
		if got := ready(d)[i].Zone; got != want {
			t.Errorf("greeter-%d is in %q, want %q", i, got, want)
		}
	}
}
