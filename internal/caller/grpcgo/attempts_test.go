package grpcgo_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/pace"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// twoBackends is a session with two greeters; tests inject faults into one of them.
type twoBackends struct {
	caller.Session
	good, faulty *workload.Server
	before       [2]int // calls that each greeter began before the test
}

func newTwoBackends(t *testing.T, job caller.Job, policy settings.Settings) *twoBackends {
	t.Helper()
	backends := &twoBackends{good: &workload.Server{ID: "good"}, faulty: &workload.Server{ID: "faulty"}}
	builder := manual.NewBuilderWithScheme("manual")
	var state resolver.State
	for _, server := range []*workload.Server{backends.good, backends.faulty} {
		target, _ := serve(t, server)
		addr := strings.TrimPrefix(target.URI, "passthrough:///")
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	builder.InitialState(state)
	config, err := policy.ServiceConfig(settings.RoundRobin)
	if err != nil {
		t.Fatal(err)
	}
	backends.Session = open(t, job, caller.Target{URI: "manual:///greeter", ServiceConfig: config, Resolvers: []resolver.Builder{builder}})
	testkit.Await(t, "both backends answer", func() bool { return len(callertest.Load(t, backends, pace.Sequence(4)).Backends) == 2 })
	backends.before = [2]int{count(t, backends.good), count(t, backends.faulty)}
	return backends
}

// begun returns how many attempts each greeter has begun during the test.
func (b *twoBackends) begun(t *testing.T) (good, faulty int) {
	return count(t, b.good) - b.before[0], count(t, b.faulty) - b.before[1]
}

func count(t *testing.T, server *workload.Server) int {
	t.Helper()
	var line bytes.Buffer
	server.WriteCount(&line)
	n, err := strconv.Atoi(strings.TrimSpace(line.String()))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var retries = settings.Settings{Retry: &settings.Retry{Attempts: 3, Backoff: time.Millisecond, Codes: []string{"UNAVAILABLE"}}}

func TestARetryGoesToAnotherBackend(t *testing.T) {
	session := newTwoBackends(t, job(caller.Channels{Mode: caller.Shared}), retries)
	session.faulty.SetFault(workload.Fault{Code: codes.Unavailable})
	if m := callertest.Load(t, session, pace.Sequence(100)); m.Backends["good"] != 100 {
		t.Errorf("backends %v, errors %v; want 100 calls by good", m.Backends, m.Errors)
	}
	if good, faulty := session.begun(t); good != 100 || faulty == 0 {
		t.Errorf("of 100 calls, the good backend began %d attempts and the faulty backend %d, want 100 and at least 1", good, faulty)
	}
}

func TestOneConnectionRetriesOnTheSameBackend(t *testing.T) {
	faulty := &workload.Server{ID: "faulty"}
	target, _ := serve(t, faulty)
	faulty.SetFault(workload.Fault{Code: codes.Unavailable})
	config, err := retries.ServiceConfig("")
	if err != nil {
		t.Fatal(err)
	}
	target.ServiceConfig = config
	m := run(t, job(caller.Channels{Mode: caller.Shared}), target, 100)
	if m.Errors["UNAVAILABLE"] != 100 || count(t, faulty) != 300 {
		t.Errorf("errors %v after %d attempts, want 100 UNAVAILABLE after 3 attempts of each call", m.Errors, count(t, faulty))
	}
}

func hedged(delay time.Duration) caller.Job {
	hedged := job(caller.Channels{Mode: caller.Shared})
	hedged.Hedge = &caller.Hedge{Attempts: 2, Delay: delay}
	return hedged
}

func TestACallToASlowBackendIsHedged(t *testing.T) {
	session := newTwoBackends(t, hedged(50*time.Millisecond), settings.Settings{})
	session.faulty.SetFault(workload.Fault{Slow: time.Minute})
	if m := callertest.Load(t, session, pace.Sequence(10)); m.Backends["good"] != 10 {
		t.Errorf("backends %v, errors %v; want 10 calls by good", m.Backends, m.Errors)
	}
	if good, faulty := session.begun(t); good != 10 || faulty == 0 {
		t.Errorf("of 10 calls, the good backend began %d attempts and the slow backend %d, want 10 and at least 1", good, faulty)
	}
}

func TestANonFatalCodeStartsTheNextAttemptAtOnce(t *testing.T) {
	session := newTwoBackends(t, hedged(time.Hour), settings.Settings{})
	session.faulty.SetFault(workload.Fault{Code: codes.Unavailable})
	if m := callertest.Load(t, session, pace.Sequence(10)); m.Backends["good"] != 10 {
		t.Errorf("backends %v, errors %v; want 10 calls by good", m.Backends, m.Errors)
	}
	if good, faulty := session.begun(t); good != 10 || faulty == 0 {
		t.Errorf("of 10 calls, the good backend began %d attempts and the faulty backend %d, want 10 and at least 1", good, faulty)
	}
}

func TestAHedgedCallFailsAfterAFatalCodeOrItsLastAttempt(t *testing.T) {
	for code, attempts := range map[codes.Code]int{codes.Unavailable: 2, codes.Internal: 1} {
		faulty := &workload.Server{ID: "faulty"}
		target, _ := serve(t, faulty)
		faulty.SetFault(workload.Fault{Code: code})
		m := run(t, hedged(time.Hour), target, 1)
		if m.Errors[strings.ToUpper(code.String())] != 1 || count(t, faulty) != attempts {
			t.Errorf("%v: errors %v after %d attempts, want 1 error after %d", code, m.Errors, count(t, faulty), attempts)
		}
	}
}
