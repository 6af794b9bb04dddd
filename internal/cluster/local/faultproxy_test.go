package local_test

import (
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/testkit"
)

// faultProxies returns the proxies before the backends of a deployment.
func faultProxies(t *testing.T, d cluster.Deployment) []cluster.FaultProxy {
	t.Helper()
	can, ok := d.(cluster.FaultProxies)
	if !ok {
		t.Fatal("the deployment has no fault proxies")
	}
	return can.FaultProxies()
}

func TestAFaultProxyMakesAProgramSlowOrFail(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t, "--delay", "20ms"), Replicas: 2, FaultProxy: true})
	proxies := faultProxies(t, d)
	for i, e := range ready(d) {
		if proxies[i].Addr != e.Addr || proxies[i].Backend == e.Addr {
			t.Errorf("%s is published at %s, want the address of its proxy: %s before %s", e.ID, e.Addr, proxies[i].Addr, proxies[i].Backend)
		}
		if message, _, _ := greet(t, e); message != "own-"+e.ID {
			t.Errorf("%s at %s answers as %s", e.ID, e.Addr, message)
		}
	}
	must(t)(d.Slow(t.Context(), 1, 0, 10))
	testkit.Await(t, "answers take 200ms", func() bool { _, _, took := greet(t, ready(d)[0]); return took >= 200*time.Millisecond })
	if _, _, took := greet(t, ready(d)[1]); took >= 10*time.Second {
		t.Errorf("the other backend took %v", took)
	}
	recoverAll(t, d)
	must(t)(d.Fail(t.Context(), 1, "INTERNAL", 1))
	client := channelTo(t, ready(d)[0])
	testkit.Await(t, "the backend answers INTERNAL", func() bool { return status.Code(longHello(t, client)) == codes.Internal })
	if got := ids(ready(d)); len(got) != 2 {
		t.Errorf("ready are %v, want both", got)
	}
	recoverAll(t, d)
	testkit.Await(t, "the backend answers", func() bool { return longHello(t, client) == nil })
	if cpu := d.(cluster.FaultProxies).FaultProxyCPU(); cpu <= 0 {
		t.Errorf("the proxies used %v of CPU time", cpu)
	}
}

func TestAProgramFlapsWithoutAProxy(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t), Replicas: 2})
	must(t)(d.Flap(t.Context(), 1, 1500*time.Millisecond))
	for range 2 {
		awaitReady(t, d, 1)
		awaitReady(t, d, 2)
	}
	must(t)(d.Flap(t.Context(), 2, time.Hour))
	awaitReady(t, d, 0)
	recoverAll(t, d)
	awaitReady(t, d, 2)
}

// Behind its proxy a backend is killed, stopped, paused and rolled out as it is without.
func TestEventsOnAProgramBehindAFaultProxy(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Program: program(t, "--delay", "600ms"), Replicas: 2, FaultProxy: true})
	killed := ready(d)[0]
	inFlight := make(chan error, 1)
	client := channelTo(t, killed)
	go func() { inFlight <- longHello(t, client) }()
	testkit.Await(t, "a call is in flight", func() bool { return d.CallCounts()[killed.ID] == 1 })
	must(t)(d.Kill(t.Context(), 1))
	if err := <-inFlight; status.Code(err) != codes.Unavailable {
		t.Errorf("the call in flight on a killed backend ends with %v, want UNAVAILABLE", err)
	}
	if conn, err := net.DialTimeout("tcp", killed.Addr.String(), time.Minute); err == nil {
		conn.Close()
		t.Error("a killed backend accepts a connection, want it refused")
	}
	awaitBackends(t, d, "greeter-1", "greeter-2")

	must(t)(d.Slow(t.Context(), 1, 200*time.Millisecond, 0))
	client = channelTo(t, ready(d)[0])
	go func() { inFlight <- longHello(t, client) }()
	testkit.Await(t, "a call is in flight", func() bool { return d.CallCounts()["greeter-1"] == 1 })
	must(t)(d.Stop(t.Context(), 1))
	if err := <-inFlight; err != nil {
		t.Errorf("a call in flight on a backend that stops fails: %v", err)
	}
	awaitBackends(t, d, "greeter-2", "greeter-3")

	must(t)(d.Pause(t.Context(), 1))
	if err := hello(t, channelTo(t, ready(d)[0])); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call to a paused backend ends with %v, want DEADLINE_EXCEEDED", err)
	}
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t)(d.Rollout(t.Context(), nil))
	awaitBackends(t, d, "greeter-4", "greeter-5")
	if failures := d.Failures(); len(failures) > 0 {
		t.Errorf("the failures are %q, want none", failures)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestABackendEndsWithItsFaultProxy(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Program: program(t), Replicas: 1, FaultProxy: true})
	if err := syscall.Kill(faultProxies(t, d)[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitBackends(t, d, "greeter-1")
	failures := d.Failures()
	if !slices.ContainsFunc(failures, func(text string) bool {
		return strings.HasPrefix(text, "the fault proxy of greeter-0 ended unexpectedly: signal: killed")
	}) {
		t.Errorf("the failures are %q, want that the fault proxy exited", failures)
	}
}
