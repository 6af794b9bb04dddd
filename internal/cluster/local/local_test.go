package local_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// TestMain isolates the network of the process that [inOwnNetwork] starts.
func TestMain(m *testing.M) {
	if os.Getenv("RPCLAB_TEST_CUT") != "" {
		if err := process.IsolateNetwork(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testkit.Main(m)
}

func newCluster(t *testing.T, o local.Options) *local.Cluster {
	t.Helper()
	if o.Server == nil {
		o.Server = []string{testkit.Rpclab(t), "server"}
	}
	o.Self = []string{testkit.Rpclab(t)}
	o.Log = slog.New(slog.DiscardHandler)
	c, err := local.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func deploy(t *testing.T, c *local.Cluster, spec cluster.Spec) cluster.Deployment {
	t.Helper()
	spec.Name = "greeter"
	d, err := c.Deploy(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must returns the identities that an event returns, and fails the test on its error.
func must(t *testing.T) func(ids []string, err error) []string {
	return func(ids []string, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
}

func ready(d cluster.Deployment) []cluster.Endpoint {
	now, _ := d.Endpoints().Current()
	return now.Ready()
}

func ids(endpoints []cluster.Endpoint) []string {
	var all []string
	for _, e := range endpoints {
		all = append(all, e.ID)
	}
	return all
}

func awaitReady(t *testing.T, d cluster.Deployment, n int) []cluster.Endpoint {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("%d backends are ready", n), func() bool { return len(ready(d)) == n })
	return ready(d)
}

// greet calls a backend and returns the identities in the message and in the trailer.
func greet(t *testing.T, e cluster.Endpoint) (message, trailer string, took time.Duration) {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+e.Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var md metadata.MD
	began := time.Now()
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"}, grpc.Trailer(&md))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Backend, strings.Join(md[workload.BackendTrailer], ","), time.Since(began)
}

// The replacement of a killed backend counts as one of those that scaling up starts. They are so many that it ends meanwhile.
func TestKillingWhileScalingUpLeavesNoneTooMany(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1})
	for range 3 {
		var killing sync.WaitGroup
		oldest := ready(d)[0].ID
		killing.Go(func() { must(t)(d.Kill(t.Context(), 1)) })
		for processes(d)[oldest] != 0 { // it ends, and is not replaced yet
			runtime.Gosched()
		}
		must(t)(d.Scale(t.Context(), 6))
		killing.Wait()
		testkit.Await(t, "6 backends are ready", func() bool { return len(ready(d)) >= 6 })
		if n := len(processes(d)); n > 6 {
			t.Fatalf("%d backends run, want 6", n)
		}
		must(t)(d.Scale(t.Context(), 1))
		awaitReady(t, d, 1)
	}
}

func TestEveryBackendHasAnAddressAndAnIdentityOfItsOwn(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 3})
	addrs := map[string]bool{}
	for _, e := range ready(d) {
		message, trailer, _ := greet(t, e)
		if message != e.ID || trailer != e.ID {
			t.Errorf("%s answers as %q in the message and %q in the trailer", e.ID, message, trailer)
		}
		if !e.Addr.Addr().IsLoopback() || int(e.Addr.Port()) != d.Service().Port {
			t.Errorf("%s listens on %s; want a loopback address and port %d", e.ID, e.Addr, d.Service().Port)
		}
		addrs[e.Addr.Addr().String()] = true
	}
	if len(addrs) != 3 {
		t.Errorf("the backends have the addresses %v, want 3", addrs)
	}
}

func TestBackendsOfASingleAddressHaveDifferentPorts(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{SingleAddress: true}), cluster.Spec{Replicas: 3})
	ports := map[uint16]bool{}
	for _, e := range ready(d) {
		if message, _, _ := greet(t, e); message != e.ID {
			t.Errorf("%s answers as %s", e.ID, message)
		}
		ports[e.Addr.Port()] = true
	}
	if len(ports) != 3 {
		t.Errorf("the backends have the ports %v, want 3", ports)
	}
}

func TestScaleUpAddsAndScaleDownDrains(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2, Drain: 5 * time.Second})
	must(t)(d.Scale(t.Context(), 4))
	four := awaitReady(t, d, 4)
	stopped := must(t)(d.Scale(t.Context(), 1))
	if want := []string{"greeter-1", "greeter-2", "greeter-3"}; !slices.Equal(stopped, want) {
		t.Errorf("Scale stopped %v, want %v", stopped, want)
	}
	now, _ := d.Endpoints().Current()
	if got := ids(now.Ready()); !slices.Equal(got, []string{"greeter-0"}) {
		t.Errorf("ready are %v, want greeter-0: Scale stops the newest first", got)
	}
	for _, e := range now.Endpoints {
		if !e.Ready() && !(e.Terminating && e.Serving) {
			t.Errorf("the endpoint is %+v, want it ready, or serving and terminating", e)
		}
	}
	if message, _, _ := greet(t, four[3]); message != "greeter-3" {
		t.Errorf("a draining backend answered as %q, want greeter-3", message)
	}
	testkit.Await(t, "the drained backends are removed", func() bool {
		now, _ := d.Endpoints().Current()
		return len(now.Endpoints) == 1
	})
}

func TestKilledBackendIsReplacedWithANewIdentity(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	before := ready(d)
	if got := must(t)(d.Kill(t.Context(), 1)); !slices.Equal(got, []string{"greeter-0"}) {
		t.Errorf("Kill killed %v, want greeter-0, the oldest", got)
	}
	testkit.Await(t, "greeter-2 replaces greeter-0", func() bool {
		return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2"})
	})
	for _, e := range ready(d) {
		for _, old := range before {
			if e.ID != old.ID && e.Addr == old.Addr {
				t.Errorf("%s has the address of %s, want its own", e.ID, old.ID)
			}
		}
	}
}

func TestPausedBackendIsNotReadyUntilItIsResumed(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	must(t)(d.Pause(t.Context(), 1))
	awaitReady(t, d, 1)
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ids(awaitReady(t, d, 2)); !slices.Equal(got, []string{"greeter-0", "greeter-1"}) {
		t.Errorf("ready are %v, want greeter-0 and greeter-1: a paused backend is not replaced", got)
	}
}

func TestSlowByADurationAddsToTheDelay(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1, Args: []string{"--delay", "20ms"}})
	if _, _, took := greet(t, ready(d)[0]); took < 20*time.Millisecond {
		t.Errorf("the answer took %v, want 20 ms at least", took)
	}
	must(t)(d.Slow(t.Context(), 1, 150*time.Millisecond, 0))
	testkit.Await(t, "answers take 170ms", func() bool {
		_, _, took := greet(t, ready(d)[0])
		return took >= 170*time.Millisecond
	})
}

func TestEventsOnTooManyBackendsFail(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1})
	for name, event := range map[string]func() ([]string, error){
		"kill":  func() ([]string, error) { return d.Kill(t.Context(), 2) },
		"pause": func() ([]string, error) { return d.Pause(t.Context(), 2) },
		"slow":  func() ([]string, error) { return d.Slow(t.Context(), 2, time.Second, 0) },
		"stop":  func() ([]string, error) { return d.Stop(t.Context(), 2) },
		"fail":  func() ([]string, error) { return d.Fail(t.Context(), 2, "UNAVAILABLE", 1) },
		"cut":   func() ([]string, error) { return d.Cut(t.Context(), 2, true) },
		"flap":  func() ([]string, error) { return d.Flap(t.Context(), 2, time.Second) },
		"scale": func() ([]string, error) { return d.Scale(t.Context(), 0) },
	} {
		if _, err := event(); err == nil || !strings.Contains(err.Error(), "needed") {
			t.Errorf("%s: error %v, want one that says how many are needed", name, err)
		}
	}
}

func TestDeployErrorHasTheLastLinesOfTheServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, local.Options{Server: []string{testkit.Rpclab(t), "server", "--no-such-flag"}})
	_, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 2})
	if err == nil || !strings.Contains(err.Error(), "did not start: exit status 2") ||
		!strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("error %v, want the exit status and the last line", err)
	}
}

func TestInterruptedDeployLeavesNoProcess(t *testing.T) {
	c := newCluster(t, local.Options{Server: []string{"sh", "-c", "exec sleep 600"}}) // never healthy
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Deploy(ctx, cluster.Spec{Name: "greeter", Replicas: 2}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Deploy returned %v, want the error of its context", err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestUsageOfBackendsSinceResetUsage(t *testing.T) {
	t.Parallel()
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		greet(t, ready(d)[0])
	}
	used := d.Usage()
	busy, idle := used["greeter-0"], used["greeter-1"]
	if busy.CPU <= idle.CPU || busy.CPU > 10*time.Second || busy.MaxRSS < 1<<20 || busy.MaxRSS > 1<<30 {
		t.Errorf("100 calls used %+v, no call %+v; want more CPU time for the calls, and 1 MB to 1 GB", busy, idle)
	}
	must(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-0 is replaced", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1", "greeter-2"}) })
	if after := d.Usage(); after["greeter-0"].CPU < busy.CPU || len(after) != 3 {
		t.Errorf("after the kill the usage is %+v, want 3 backends, and no less for greeter-0", after)
	}
}

func TestUnexpectedExitIsAFailure(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1})
	for _, pid := range children(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Await(t, "greeter-0 is replaced", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-1"}) })
	if failures := d.Failures(); len(failures) != 1 || !strings.Contains(failures[0], "server greeter-0 exited unexpectedly: signal: killed") {
		t.Errorf("the failures are %q, want one: greeter-0 exited unexpectedly", failures)
	}
	must(t)(d.Kill(t.Context(), 1))
	testkit.Await(t, "greeter-1 is replaced", func() bool { return slices.Equal(ids(ready(d)), []string{"greeter-2"}) })
	if failures := d.Failures(); len(failures) != 1 {
		t.Errorf("the failures are %q, want still one: Kill is no failure", failures)
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	c := newCluster(t, local.Options{})
	d := deploy(t, c, cluster.Spec{Replicas: 3})
	must(t)(d.Pause(t.Context(), 1))
	pids := children(t)
	if len(pids) < 3 {
		t.Fatalf("the child processes are %v, want 3 at least", pids)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if _, err := measure.CPU(pid); err == nil {
			t.Errorf("process %d still runs after Close", pid)
		}
	}
}

// children are the child processes of this process.
func children(t *testing.T) []int {
	t.Helper()
	var pids []int
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		for _, field := range strings.Fields(string(list)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
