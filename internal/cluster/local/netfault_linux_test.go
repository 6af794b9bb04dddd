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

func TestAResetEndsTheConnectionsOfOneBackendAtOnce(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	hit(t)(d.Slow(t.Context(), 1, time.Hour, 0))
	oldest := channelTo(t, ready(d)[0])
	testkit.Await(t, "it is slow", func() bool { return status.Code(hello(t, oldest)) == codes.DeadlineExceeded })
	before := d.CallCounts()["greeter-0"]
	answers := []chan error{make(chan error, 1), make(chan error, 1)}
	for i, e := range ready(d) {
		client := channelTo(t, e)
		go func() { answers[i] <- patient(t, client) }()
	}
	testkit.Await(t, "both work", func() bool { s := d.CallCounts(); return s["greeter-0"] == before+1 && s["greeter-1"] == 1 })
	hit(t)(d.Cut(t.Context(), 1, true))
	err := <-answers[0] // long before the server would have answered
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("the call over the connection that was cut: %v", err)
	}
	if err := <-answers[1]; err != nil {
		t.Errorf("the call over the other connection: %v", err)
	}
	recoverAll(t, d)
	testkit.Await(t, "it answers again, since it still listens", func() bool { return hello(t, oldest) == nil })
	if len(ready(d)) != 2 || len(d.Failures()) != 0 {
		t.Errorf("ready are %v, losses %q", ids(ready(d)), d.Failures())
	}
}

func TestPacketsVanishUntilTheClusterRecovers(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	cut, whole := channelTo(t, ready(d)[0]), channelTo(t, ready(d)[1])
	if err := patient(t, cut); err != nil {
		t.Fatal(err)
	}
	hit(t)(d.Cut(t.Context(), 1, false))
	if err := hello(t, cut); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call into the void: %v; nobody should hear of it but by the deadline", err)
	}
	if err := hello(t, channelTo(t, ready(d)[0])); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a new connection into the void: %v", err)
	}
	if err := patient(t, whole); err != nil {
		t.Errorf("the other backend: %v", err)
	}
	if served, known := d.CallCounts()["greeter-0"]; served != 1 || !known {
		t.Errorf("the one that is cut off served %d calls, known: %v", served, known)
	}
	recoverAll(t, d)
	testkit.Await(t, "packets pass again", func() bool { return hello(t, cut) == nil })
	hit(t)(d.Cut(t.Context(), 2, false))
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	again := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 2})
	if err := again.Recover(t.Context()); err != nil {
		t.Errorf("nothing is cut, and yet to recover is an error: %v", err)
	}
}

func TestWithASharedAddressOnlyResetsWork(t *testing.T) {
	d := deploy(t, newCluster(t, local.Options{SingleAddress: true}), cluster.Spec{Replicas: 2, Args: []string{"--delay", "1m"}})
	client := channelTo(t, ready(d)[0])
	answer := make(chan error, 1)
	go func() { answer <- patient(t, client) }()
	testkit.Await(t, "it works", func() bool { return d.CallCounts()["greeter-0"] == 1 })
	hit(t)(d.Cut(t.Context(), 1, true))
	if err := <-answer; status.Code(err) != codes.Unavailable {
		t.Errorf("the call over the connection that was cut: %v", err)
	}
	if _, err := d.Cut(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "its own address") {
		t.Errorf("got %v", err)
	}
}

func TestPacketsOfTheMachineAreNeverDropped(t *testing.T) {
	if process.NetworkIsolated() {
		t.Fatal("this test runs in a network of its own")
	}
	d := deploy(t, newCluster(t, local.Options{}), cluster.Spec{Replicas: 1})
	if _, err := d.Cut(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "only in a network namespace of the run") {
		t.Errorf("got %v", err)
	}
	t.Setenv("RPCLAB_OWN_NETWORK", "net:[1]")
	if process.NetworkIsolated() {
		t.Error("a variable that names another network namespace was accepted")
	}
}

// inOwnNetwork runs the test once more, as root in a network of its own, and is true there.
func inOwnNetwork(t *testing.T) bool {
	t.Helper()
	if process.NetworkIsolated() {
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), "RPCLAB_TEST_CUT=1")
	output, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("in a network of its own: %v\n%s", err, output)
	}
	return false
}
