package wire_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	"rpclab/internal/service/stream"
)

// serveOther serves a program that is not rpclab's, whose methods are known by reflection.
func serveOther(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	reflection.Register(server)
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// goCallers are the callers of gRPC services in this process.
var goCallers = map[string]caller.Caller{"grpc-go": grpcgo.Caller{}, "wire": wire.Caller{}}

func TestACallOfAServiceIsAWholeStream(t *testing.T) {
	address := serveOther(t)
	const calls, notFixed = 10, -1
	watch := service.Spec{Name: "watch", Method: "grpc.health.v1.Health/Watch"} // a stream that the server never ends
	list := service.Spec{Name: "list", Method: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Data: `{"list_services": ""}`}
	for what, c := range map[string]struct {
		spec      service.Spec
		stream    stream.Options
		check     string
		responses int64  // of all calls
		failed    string // the code of all calls
	}{
		"after a response":     {watch, stream.Options{MaxResponses: 1}, "answer.status == 1", calls, ""},
		"after a time":         {watch, stream.Options{MaxDuration: 250 * time.Millisecond}, "", notFixed, ""},
		"by the server":        {list, stream.Options{Requests: 3}, "size(answer.list_services_response.service) > 1", 3 * calls, ""},
		"request by request":   {list, stream.Options{Requests: 3, PingPong: true}, "", 3 * calls, ""},
		"with wrong responses": {list, stream.Options{Requests: 2}, "answer.list_services_response.service.size() == 0", 2 * calls, service.CheckFailed},
	} {
		for library, opened := range goCallers {
			t.Run(what+", "+library, func(t *testing.T) {
				spec := c.spec
				spec.Check, spec.Stream = c.check, c.stream
				spec.Stream.Timeout = time.Minute
				session := callertest.Open(t, opened, caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Calls: []service.Spec{spec}}, caller.Target{URI: "passthrough:///" + address})
				for range 2 { // a session makes several loads
					m := callertest.Load(t, session, pace.Closed{Users: 2, Calls: calls})
					times, err := hdr.Decode([]byte(m.Answers))
					if err != nil {
						t.Fatal(err)
					}
					if m.Calls != calls || fmt.Sprint(m.Errors) != want(c.failed, calls) || c.responses != notFixed && times.TotalCount() != c.responses {
						t.Errorf("%d calls, errors %v %v, %d responses; want %d calls with errors %s and %d responses", m.Calls, m.Errors, m.Samples, times.TotalCount(), calls, want(c.failed, calls), c.responses)
					}
					if c.failed == "" && m.Backends[address] != calls {
						t.Errorf("the backends are %v, want %d calls of %s", m.Backends, calls, address)
					}
				}
			})
		}
	}
}

// TestAnEmptyStreamFailsUnlessItMayBeEmpty: a service that sends nothing must not look well.
func TestAnEmptyStreamFailsUnlessItMayBeEmpty(t *testing.T) {
	address := serveOther(t)
	for library, opened := range goCallers {
		for needs, code := range map[bool]string{true: "DEADLINE_EXCEEDED", false: ""} {
			t.Run(fmt.Sprint(library, needs), func(t *testing.T) {
				spec := service.Spec{Name: "silent", Method: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Stream: stream.Options{NoRequests: true, MaxDuration: 20 * time.Millisecond, NeedsResponse: needs, Timeout: time.Minute}}
				session := callertest.Open(t, opened, caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Calls: []service.Spec{spec}}, caller.Target{URI: "passthrough:///" + address})
				if m := callertest.Load(t, session, pace.Closed{Users: 2, Calls: 4}); fmt.Sprint(m.Errors) != want(code, 4) || m.Calls != 4 {
					t.Errorf("%d calls, errors %v %v; want 4 calls with %s", m.Calls, m.Errors, m.Samples, want(code, 4))
				}
			})
		}
	}
}

// A check that no response met does not hold: nothing could be checked.
func TestACheckOfAStreamNeedsAResponse(t *testing.T) {
	address := serveOther(t)
	for library, opened := range goCallers {
		for needs, code := range map[bool]string{true: service.CheckFailed, false: ""} {
			t.Run(fmt.Sprint(library, needs), func(t *testing.T) {
				spec := service.Spec{Name: "ended", Method: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Check: "answer.valid_host == ''",
					Stream: stream.Options{NoRequests: true, NeedsResponse: needs, Timeout: time.Minute}}
				session := callertest.Open(t, opened, caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Calls: []service.Spec{spec}}, caller.Target{URI: "passthrough:///" + address})
				m := callertest.Load(t, session, pace.Closed{Users: 2, Calls: 4})
				if fmt.Sprint(m.Errors) != want(code, 4) || m.Calls != 4 || needs && !strings.Contains(m.Samples[code], "stream.empty: true") {
					t.Errorf("%d calls, errors %v %v; want 4 calls with %s", m.Calls, m.Errors, m.Samples, want(code, 4))
				}
			})
		}
	}
}

func want(code string, calls int) string {
	if code == "" {
		return "map[]"
	}
	return fmt.Sprintf("map[%s:%d]", code, calls)
}
