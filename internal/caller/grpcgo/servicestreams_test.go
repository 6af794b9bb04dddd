package grpcgo_test

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/service"
	"rpclab/internal/workload"
)

// messagesOf is a job that sends the messages of a call of a service on streams.
func messagesOf(spec service.Spec, renew time.Duration) caller.Job {
	j := job(caller.Channels{Mode: caller.Shared})
	j.Stream, j.Calls = &caller.Stream{Renew: renew}, []service.Spec{spec}
	return j
}

func greetings() service.Spec {
	return service.Spec{Name: "greetings", Method: "rpclab.v1.Greeter/Greetings", Data: `{"name": "you {{.Number}}"}`}
}

func TestStreamsCarryTheMessagesOfAService(t *testing.T) {
	target, connections := serve(t, &workload.Server{ID: "b7", Delay: 10 * time.Millisecond})
	address := strings.TrimPrefix(target.URI, "passthrough:///")
	for name, c := range map[string]struct {
		change  func(*service.Spec)
		backend string // empty: not known
		errors  map[string]uint64
	}{
		"by address": {func(*service.Spec) {}, address, nil},
		"by header":  {func(s *service.Spec) { s.Identity.Header = workload.BackendTrailer }, "b7", nil},
		"by field":   {func(s *service.Spec) { s.Identity.Field = "message"; s.Data = `{"name": "you"}` }, "Hello, you", nil},
		"not known":  {func(s *service.Spec) { s.Identity.Trailer = "x-pod" }, "", nil},
		"checked":    {func(s *service.Spec) { s.Check = `answer.message != "Hello, you 7"` }, address, map[string]uint64{service.CheckFailed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := greetings()
			c.change(&spec)
			before := connections()
			m := run(t, messagesOf(spec, 0), target, 200)
			if failed := c.errors[service.CheckFailed]; m.Calls != 200 || len(m.Errors) != len(c.errors) || m.Errors[service.CheckFailed] != failed ||
				m.Backends[c.backend] != 200-failed {
				t.Errorf("%d calls, backends %v, errors %v %v; want 200 calls by %q with the errors %v", m.Calls, m.Backends, m.Errors, m.Samples, c.backend, c.errors)
			}
			if opened := connections() - before; opened > 2 { // one asks for the methods
				t.Errorf("there are %d connections, want 1 for the messages", opened)
			}
		})
	}
}

func TestStreamsNeedABidirectionalMethod(t *testing.T) {
	target, _ := serve(t, &workload.Server{ID: "b"})
	unary := service.Spec{Name: "hello", Method: "rpclab.v1.Greeter/SayHello"}
	opened, err := grpcgo.Caller{}.Open(messagesOf(unary, 0), target)
	if err == nil {
		_ = opened.Close()
	}
	if want := "the call hello is not of a bidirectional streaming method"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("streams of a unary method: %v, want %q", err, want)
	}
}
