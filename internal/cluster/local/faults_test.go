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

// channelTo is a channel to one backend that lasts until the test ends.
func channelTo(t *testing.T, e cluster.Endpoint) rpclabv1.GreeterClient {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+e.Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return rpclabv1.NewGreeterClient(channel)
}

// hello is one call of at most a second.
func hello(t *testing.T, client rpclabv1.GreeterClient) error { return within(t, client, time.Second) }

// patient is one call that outlasts what is done to its backend.
func patient(t *testing.T, client rpclabv1.GreeterClient) error {
	return within(t, client, time.Minute)
}

func within(t *testing.T, client rpclabv1.GreeterClient, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
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

func TestAStoppedBackendIsReplacedAtOnceAndFinishesItsCalls(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2, Drain: 5 * time.Second, Args: []string{"--delay", "100ms"}})
	oldest := ready(d)[0]
	under := make(chan error, 1)
	client := channelTo(t, oldest)
	go func() { under <- patient(t, client) }()
	testkit.Await(t, "a call is under way", func() bool { return d.CallCounts()["greeter-0"] == 1 })
	hit(t)(d.Stop(t.Context(), 1))
	if now, _ := d.Endpoints().Current(); !now.Endpoints[0].Terminating {
		t.Error("a backend that is told to go is not published as terminating")
	}
	if err := errors.Join(<-under, patient(t, client)); err != nil {
		t.Errorf("calls while it drains: %v", err)
	}
	testkit.Await(t, "greeter-2 takes over", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2"}) })
	testkit.Await(t, "greeter-0 is gone", func() bool { now, _ := d.Endpoints().Current(); return len(now.Endpoints) == 2 })
	if lost := d.Failures(); len(lost) != 0 {
		t.Errorf("losses: %q", lost)
	}
}

func TestAnErrorLoopAnswersAtOnceAndStaysReady(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2, Args: []string{"--delay", "10s"}})
	hit(t)(d.Fail(t.Context(), 1, "RESOURCE_EXHAUSTED"))
	client := channelTo(t, ready(d)[0])
	testkit.Await(t, "it fails", func() bool { return status.Code(hello(t, client)) == codes.ResourceExhausted })
	if len(ready(d)) != 2 {
		t.Error("it is not ready any more")
	}
	recoverAll(t, d)
	testkit.Await(t, "it waits again", func() bool { return status.Code(hello(t, client)) == codes.DeadlineExceeded })
	if _, err := d.Fail(t.Context(), 1, "NO_SUCH_CODE"); err == nil {
		t.Error("an unknown code was no error")
	}
}

func TestSlownessByAFactorIsOfTheWorkItself(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1, Args: []string{"--delay", "20ms"}})
	hit(t)(d.Slow(t.Context(), 1, 0, 10))
	testkit.Await(t, "answers take 200ms", func() bool {
		_, _, took := greet(t, ready(d)[0])
		return took >= 200*time.Millisecond
	})
	hit(t)(d.Slow(t.Context(), 1, 0, 0))
	testkit.Await(t, "answers take 20ms again", func() bool {
		_, _, took := greet(t, ready(d)[0])
		return took < 150*time.Millisecond
	})
}

func TestAFlappingBackendComesAndGoes(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	hit(t)(d.Flap(t.Context(), 1, 1500*time.Millisecond))
	for range 2 {
		awaitReady(t, d, 1)
		awaitReady(t, d, 2)
	}
	hit(t)(d.Flap(t.Context(), 2, time.Hour))
	awaitReady(t, d, 0)
	recoverAll(t, d)
	if got := ids(awaitReady(t, d, 2)); !slices.Equal(got, []string{"greeter-0", "greeter-1"}) {
		t.Errorf("ready are %v: a backend that does not serve for a while was replaced", got)
	}
}

func TestServedCountsTheCallsThatBackendsBegan(t *testing.T) {
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
			if is, ok := got[id]; !ok || is != calls {
				t.Errorf("%s: %s served %d calls (known: %v), want %d", when, id, is, ok, calls)
			}
		}
	}
	check("all live")
	hit(t)(d.Stop(t.Context(), 1))
	testkit.Await(t, "greeter-0 is replaced", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2", "greeter-3"}) })
	check("one ended when it was told to")
	hit(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-1 is replaced", func() bool {
		return slices.Equal(ids(ready(d)), []string{"greeter-2", "greeter-3", "greeter-4"})
	})
	hit(t)(d.Pause(t.Context(), 1))
	got := d.CallCounts()
	_, killed := got["greeter-1"]
	_, paused := got["greeter-2"]
	if killed || paused || got["greeter-0"] != 10 {
		t.Errorf("served: %v; the one that was killed and the one that is paused cannot be asked", got)
	}
}

func TestABackendThatCouldNotSayWhereItBeganIsLeftOut(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	greet(t, ready(d)[0])
	hit(t)(d.Pause(t.Context(), 1))
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.CallCounts(); !maps.Equal(got, map[string]uint64{"greeter-1": 0}) {
		t.Errorf("served: %v; greeter-0 would count its calls of before", got)
	}
}

func TestTheNameServerIsSlowAndLiesUntilItRecovers(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, d.Service().DNS)
	}}
	look := func() (addrs []string, took time.Duration) {
		t.Helper()
		began := time.Now()
		addrs, err := resolver.LookupHost(t.Context(), d.Service().Host+".")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(addrs)
		return addrs, time.Since(began)
	}
	honest, _ := look()
	if err := d.SetDNSFault(2*time.Second, true); err != nil {
		t.Fatal(err)
	}
	lies, took := look()
	if took < 2*time.Second || len(lies) != 2 {
		t.Errorf("it answered %v in %v", lies, took)
	}
	for _, addr := range lies {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(addr, "50051"), time.Second)
		if err == nil {
			conn.Close()
			t.Errorf("something listens at %s", addr)
		}
	}
	recoverAll(t, d)
	if now, took := look(); !slices.Equal(now, honest) || took >= 2*time.Second {
		t.Errorf("after it recovered it answered %v in %v, before %v", now, took, honest)
	}
}

func TestBackendsAreDealtOutToZones(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3, Zones: 2})
	for i, want := range []string{"zone-0", "zone-1", "zone-0"} {
		if got := ready(d)[i].Zone; got != want {
			t.Errorf("greeter-%d is in %q, want %q", i, got, want)
		}
	}
}
