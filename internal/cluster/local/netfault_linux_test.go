package local_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

func TestResetEndsTheConnectionsOfOneBackend(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	must(t)(d.Slow(t.Context(), 1, time.Hour, 0))
	oldest := channelTo(t, ready(d)[0])
	testkit.Await(t, "the backend is slow", func() bool { return status.Code(hello(t, oldest)) == codes.DeadlineExceeded })
	before := d.CallCounts()["greeter-0"]
	answers := []chan error{make(chan error, 1), make(chan error, 1)}
	for i, e := range ready(d) {
		client := channelTo(t, e)
		go func() { answers[i] <- longHello(t, client) }()
	}
	testkit.Await(t, "both backends have a call", func() bool {
		counts := d.CallCounts()
		return counts["greeter-0"] == before+1 && counts["greeter-1"] == 1
	})
	must(t)(d.Cut(t.Context(), 1, true))
	err := <-answers[0] // long before the server would have answered
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("the call over the reset connection returned %v, want UNAVAILABLE: connection reset by peer", err)
	}
	if err := <-answers[1]; err != nil {
		t.Errorf("the call to the other backend: %v", err)
	}
	recoverAll(t, d)
	testkit.Await(t, "the backend, which still listens, answers again", func() bool { return hello(t, oldest) == nil })
	if len(ready(d)) != 2 || len(d.Failures()) != 0 {
		t.Errorf("ready are %v, failures %q; want both backends and no failure", ids(ready(d)), d.Failures())
	}
}

func TestCutDropsPacketsUntilRecover(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	cut, uncut := channelTo(t, ready(d)[0]), channelTo(t, ready(d)[1])
	if err := longHello(t, cut); err != nil {
		t.Fatal(err)
	}
	must(t)(d.Cut(t.Context(), 1, false))
	if err := hello(t, cut); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call to the cut backend returned %v, want DEADLINE_EXCEEDED", err)
	}
	if err := hello(t, channelTo(t, ready(d)[0])); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call over a new connection to the cut backend returned %v, want DEADLINE_EXCEEDED", err)
	}
	if err := longHello(t, uncut); err != nil {
		t.Errorf("a call to the other backend: %v", err)
	}
	if served, known := d.CallCounts()["greeter-0"]; served != 1 || !known {
		t.Errorf("the cut backend counts %d calls (known: %v), want 1", served, known)
	}
	recoverAll(t, d)
	testkit.Await(t, "packets pass again", func() bool { return hello(t, cut) == nil })
	must(t)(d.Cut(t.Context(), 2, false))
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	second := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	if err := second.Recover(t.Context()); err != nil {
		t.Errorf("Recover without a fault: %v", err)
	}
}

func TestBackendsWithOneAddressCanOnlyBeReset(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{SingleAddress: true}), cluster.Spec{Replicas: 2, Args: []string{"--delay", "1m"}})
	client := channelTo(t, ready(d)[0])
	answer := make(chan error, 1)
	go func() { answer <- longHello(t, client) }()
	testkit.Await(t, "the backend has a call", func() bool { return d.CallCounts()["greeter-0"] == 1 })
	must(t)(d.Cut(t.Context(), 1, true))
	if err := <-answer; status.Code(err) != codes.Unavailable {
		t.Errorf("the call over the reset connection returned %v, want UNAVAILABLE: connection reset by peer", err)
	}
	if _, err := d.Cut(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "its own address") {
		t.Errorf("error %v, want one that names the reason", err)
	}
}

func TestCutNeverDropsPacketsOfTheMachine(t *testing.T) {
	if process.NetworkIsolated() {
		t.Fatal("this test runs in a network namespace of its own, want the machine's")
	}
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1})
	if _, err := d.Cut(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "only in a network namespace of the run") {
		t.Errorf("error %v, want one that names the reason", err)
	}
	t.Setenv("RPCLAB_OWN_NETWORK", "net:[1]")
	if process.NetworkIsolated() {
		t.Error("a variable that names another network namespace was accepted")
	}
}

// inOwnNetwork runs the test in a child process with a network namespace of its own. It returns
// true in the child.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if process.NetworkIsolated() {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "RPCLAB_TEST_CUT=1")
	output, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("the test in its own network namespace: %v\n%s", err, output)
	}
	return false
}
