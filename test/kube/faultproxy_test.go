package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// faults runs events on two pods of a service, whose calls are balanced, and returns the arm.
func faults(t *testing.T, dir, service string) result.Arm {
	t.Helper()
	file := filepath.Join(dir, "faults.yaml")
	text := fmt.Sprintf(`experiment: faults
question: What does a slow backend cost, what one that fails, one whose health alternates, is paused or loses its connections?
services:
  shop:
    %s
defaults: {service: shop, workload: {call: hello}, route: endpointslice, caller: {timeout: 40s}, load: {open: {rate: 100, duration: 62s}}}
arms: {watching: {}}
events:
  - {at: 2s, slow: {backends: 1, by: 400ms}}
  - {at: 8s, recover: true}
  - {at: 9s, fail: {backends: 1, code: RESOURCE_EXHAUSTED, share: 50 %%}}
  - {at: 13s, recover: true}
  - {at: 14s, flap: {backends: 1, every: 10s}}
  - {at: 24s, recover: true}
  - {at: 32s, pause: 1} # when calls reach it again
  - {at: 50s, resume: true}
  - {at: 57s, cut: {backends: 1}}
rounds: 1
`, service)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := mustRun(t, file)
	for _, e := range d.Events {
		if e.Error != "" {
			t.Errorf("%s: %s", e.What, e.Error)
		}
		if e.Action == result.ActionCut {
			checkCut(t, e)
		}
		if (e.Action == result.ActionFlap || e.Action == result.ActionPause) && e.Took.Avoided == nil {
			t.Errorf("%s: the pod got calls all the time: %d of %d", e.What, e.AnsweredByAffected, e.Answered)
		}
	}
	a := d.Arms[0]
	// While a client reads what waited for it during a pause, it may send more pings (to estimate the bandwidth) than a
	// grpc-go server permits without writing. The server then closes the connection: too_many_pings.
	closed := a.Errors["UNAVAILABLE"]
	if failed := a.Errors["RESOURCE_EXHAUSTED"]; failed == 0 || failed+closed != a.Failed() || failed > 160 || closed > a.Calls/100 { // of about 200 calls to that pod
		t.Errorf("the errors are %v %v, want only RESOURCE_EXHAUSTED, of half of the calls to one pod", a.Errors, a.Samples)
	}
	if a.Service.P95 < 400 || a.Service.P50 > 300 { // about 300 of 5,600 calls were slowed down
		t.Errorf("of the answered calls p50 is %v ms and p95 %v ms, want a p95 of at least 400", a.Service.P50, a.Service.P95)
	}
	if len(d.FaultProxies) != 1 || d.FaultProxies[0].Unknown != "" || d.FaultProxies[0].Calls == 0 || *d.FaultProxies[0].CPU <= 0 {
		t.Errorf("the cost of the fault proxy is %+v, want what it adds to a call", d.FaultProxies)
	}
	return a
}

// checkCut checks that a pod whose connections were reset answers calls, and one whose packets are dropped does not.
func checkCut(t *testing.T, e result.Event) {
	t.Helper()
	const inTime = 250 // of 500: 50 within a deadline of 1 s of the recovery, and until a busy machine has performed the cut
	reset := strings.HasSuffix(e.What, "reset")
	if answered := e.AnsweredByAffected; len(e.Affected) != 1 || reset && answered == 0 || !reset && answered > inTime {
		t.Errorf("%s: it affected %v, which answered %d calls until the next event", e.What, e.Affected, answered)
	}
}

// rpclab's own servers cut their connections themselves, the fault proxy those of a user's. The kubelet does not notice.
func TestConnectionsOfPodsAreCut(t *testing.T) {
	t.Parallel()
	cuts(t, "--set", "server.replicas=2")
	cuts(t, "--service", greeter(t, imageServer(t, ", replicas: 2")))
}

// cuts resets the connections of one of two pods, and later drops its packets for ten seconds.
func cuts(t *testing.T, more ...string) {
	t.Helper()
	d := mustRun(t, append(more, "churn", "--quick", "--arms", "endpointslice", "--set", "headline=[failed]", "--set", "load.open.rate=100",
		"--set", "load.open.duration=30s", "--set", "caller.timeout=1s",
		"--set", "events=[{at: 2s, cut: {backends: 1}}, {at: 6s, cut: {backends: 1, how: blackhole}}, {at: 16s, recover: true}]")...)
	trial := d.Arms[0].Trials[0]
	if len(trial.Events) != 3 || trial.Failed != "" || len(trial.Lost) > 0 {
		t.Fatalf("%d events, want 3; failure %q, lost %v", len(trial.Events), trial.Failed, trial.Lost)
	}
	for _, e := range trial.Events[:2] {
		checkCut(t, e)
	}
	dropped := trial.Events[1]
	if lost := dropped.Errors["DEADLINE_EXCEEDED"]; lost < 150 { // half of ten seconds' calls are 500
		t.Errorf("%s: %v calls failed, want about 500 with DEADLINE_EXCEEDED", dropped.What, dropped.Errors)
	}
	cut := dropped.Affected[0]
	if answered := d.Arms[0].Backends[cut]; answered < 350 { // 300 before, 700 afterwards, less what a busy machine and TCP wait to send again
		t.Errorf("%s answered %d calls, want that it answers calls after the cut too", cut, answered)
	}
}

func TestAPodOfTheUserIsSlowFailsAndFlaps(t *testing.T) {
	t.Parallel()
	server := `server: {` + strings.ReplaceAll(imageServer(t, ", replicas: 2"), "\n", "") + `}
    calls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {name: you}, check: 'answer.message == "Hello, you"'}}`
	a := faults(t, t.TempDir(), server)
	if len(a.Backends) != 2 {
		t.Errorf("the pods %v answered, want two", a.Backends)
	}
}

// The proxy decrypts and encrypts the calls, with keys that no object of the cluster contains.
func TestAPodOfTheUserWithMutualTLSIsSlowFailsAndFlaps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shop := secureShop(t, dir)
	faults(t, dir, fmt.Sprintf("server: {image: %q, port: 9000, args: [\"{{.Address}}\"], replicas: 2, ready: tcp, files: %s}\n    %s", secureImage, secureFiles, shop))
}

// The proxies of pods that a rollout replaces accept connections until the servers behind them no longer do.
func TestARolloutOfPodsWithFaultProxiesLosesNoCalls(t *testing.T) {
	t.Parallel()
	d := withEvents(t, imageServer(t, ", replicas: 2"), "40s", "[{at: 1s, slow: {backends: 1, by: 1ms}}, {at: 3s, roll: true}]")
	for _, e := range d.Events {
		if e.Error != "" || e.Failed > 0 {
			t.Errorf("%s: error %q, %d calls failed: %v", e.What, e.Error, e.Failed, e.Errors)
		}
	}
	if e := d.Events[1]; e.Took.FirstCall == nil {
		t.Error("no new pod got a call after the rollout")
	}
}
