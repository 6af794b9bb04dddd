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

// pair is a session with a good greeter and one that is going to ail.
type pair struct {
	caller.Session
	good, ill *workload.Server
	before    [2]int // calls that each began while the session found both
}

func newPair(t *testing.T, j caller.Job, s settings.Settings) *pair {
	t.Helper()
	p := &pair{good: &workload.Server{ID: "good"}, ill: &workload.Server{ID: "ill"}}
	m := manual.NewBuilderWithScheme("manual")
	var state resolver.State
	for _, server := range []*workload.Server{p.good, p.ill} {
		target, _ := serve(t, server)
		addr := strings.TrimPrefix(target.URI, "passthrough:///")
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	m.InitialState(state)
	config, err := s.ServiceConfig(settings.RoundRobin)
	if err != nil {
		t.Fatal(err)
	}
	p.Session = opened(t, j, caller.Target{URI: "manual:///greeter", ServiceConfig: config, Resolvers: []resolver.Builder{m}})
	testkit.Await(t, "both answer", func() bool { return len(callertest.Load(t, p, pace.Sequence(4)).Backends) == 2 })
	p.before = [2]int{count(t, p.good), count(t, p.ill)}
	return p
}

// begun is how many calls each has begun since.
func (p *pair) begun(t *testing.T) (good, ill int) {
	return count(t, p.good) - p.before[0], count(t, p.ill) - p.before[1]
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
	p := newPair(t, job(caller.Channels{Mode: caller.Shared}), retries)
	p.ill.SetFault(workload.Fault{Code: codes.Unavailable})
	if m := callertest.Load(t, p, pace.Sequence(100)); m.Backends["good"] != 100 {
		t.Errorf("answered %v, failed %v", m.Backends, m.Errors)
	}
	if good, ill := p.begun(t); good != 100 || ill == 0 {
		t.Errorf("of 100 calls, the good backend saw %d and the ill one %d attempts", good, ill)
	}
}

func TestOneConnectionRetriesOnTheSameBackend(t *testing.T) {
	ill := &workload.Server{ID: "ill"}
	target, _ := serve(t, ill)
	ill.SetFault(workload.Fault{Code: codes.Unavailable})
	config, err := retries.ServiceConfig("")
	if err != nil {
		t.Fatal(err)
	}
	target.ServiceConfig = config
	m := run(t, job(caller.Channels{Mode: caller.Shared}), target, 100)
	if m.Errors["UNAVAILABLE"] != 100 || count(t, ill) != 300 {
		t.Errorf("failed %v after %d attempts; each call has 3", m.Errors, count(t, ill))
	}
}

func hedged(delay time.Duration) caller.Job {
	j := job(caller.Channels{Mode: caller.Shared})
	j.Hedge = &caller.Hedge{Attempts: 2, Delay: delay}
	return j
}

func TestASlowBackendIsHedged(t *testing.T) {
	p := newPair(t, hedged(50*time.Millisecond), settings.Settings{})
	p.ill.SetFault(workload.Fault{Slow: time.Minute})
	if m := callertest.Load(t, p, pace.Sequence(10)); m.Backends["good"] != 10 {
		t.Errorf("answered %v, failed %v", m.Backends, m.Errors)
	}
	if good, ill := p.begun(t); good != 10 || ill == 0 {
		t.Errorf("of 10 calls, the good backend saw %d and the slow one %d attempts", good, ill)
	}
}

func TestAfterANonFatalCodeTheNextAttemptBeginsAtOnce(t *testing.T) {
	p := newPair(t, hedged(time.Hour), settings.Settings{})
	p.ill.SetFault(workload.Fault{Code: codes.Unavailable})
	if m := callertest.Load(t, p, pace.Sequence(10)); m.Backends["good"] != 10 {
		t.Errorf("answered %v, failed %v", m.Backends, m.Errors)
	}
	if good, ill := p.begun(t); good != 10 || ill == 0 {
		t.Errorf("of 10 calls, the good backend saw %d and the ill one %d attempts", good, ill)
	}
}

func TestAHedgedCallFailsWhenAllAttemptsDoOrOneIsFatal(t *testing.T) {
	for code, attempts := range map[codes.Code]int{codes.Unavailable: 2, codes.Internal: 1} {
		ill := &workload.Server{ID: "ill"}
		target, _ := serve(t, ill)
		ill.SetFault(workload.Fault{Code: code})
		m := run(t, hedged(time.Hour), target, 1)
		if m.Errors[strings.ToUpper(code.String())] != 1 || count(t, ill) != attempts {
			t.Errorf("%v: failed %v after %d attempts, want %d", code, m.Errors, count(t, ill), attempts)
		}
	}
}
