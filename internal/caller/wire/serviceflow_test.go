package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// doorman greets with a token, and each further time only those who send the token of their first greeting. It refuses
// names that end in 0.
type doorman struct {
	rpclabv1.UnimplementedGreeterServer
}

func (doorman) SayHello(ctx context.Context, r *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	name, known := strings.CutPrefix(r.Name, "known ")
	if !known {
		return &rpclabv1.HelloReply{Message: token(r.Name)}, nil
	}
	if md, _ := metadata.FromIncomingContext(ctx); strings.Join(md["token"], "") != token(name) {
		return nil, status.Errorf(codes.Unauthenticated, "%v is not the token of %s", md["token"], name)
	}
	if strings.HasSuffix(name, "0") {
		return nil, status.Error(codes.PermissionDenied, "go away")
	}
	return &rpclabv1.HelloReply{}, nil
}

func token(name string) string { return `"` + name + `"&?/` }

// ServeHTTP does the same over HTTP.
func (d doorman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := metadata.NewIncomingContext(r.Context(), metadata.Pairs("token", r.URL.Query().Get("token")))
	reply, err := d.SayHello(ctx, &rpclabv1.HelloRequest{Name: r.URL.Query().Get("name")})
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"token": reply.Message})
}

// flowOf returns the two calls of a flow over gRPC and over HTTP.
func flowOf(from string) (overGRPC, overHTTP []service.Spec) {
	const method = "rpclab.v1.Greeter/SayHello"
	values := map[string]string{"token": from}
	return []service.Spec{
			{Name: "login", Method: method, Data: `{"name": "{{.Number}}"}`},
			{Name: "get", Method: method, Data: `{"name": "known {{.Number}}"}`, Metadata: map[string][]string{"token": {"{{.token}}"}}, From: values},
		}, []service.Spec{
			{Name: "login", HTTP: "GET", Path: "/?name={{.Number}}"},
			{Name: "get", HTTP: "GET", Path: "/?name=known%20{{.Number}}&token={{.token}}", From: values},
		}
}

// serve starts a greeter.
func serve(t *testing.T, greeter rpclabv1.GreeterServer) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, greeter)
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// openDoor starts the server over both protocols.
func openDoor(t *testing.T) (overGRPC, overHTTP string) {
	t.Helper()
	web := httptest.NewServer(doorman{})
	t.Cleanup(web.Close)
	return serve(t, doorman{}), strings.TrimPrefix(web.URL, "http://")
}

// TestCallersFollowAFlow makes 20 flows, a tenth of which fail at their second step.
func TestCallersFollowAFlow(t *testing.T) {
	grpcAddress, httpAddress := openDoor(t)
	overGRPC, _ := flowOf("login.message")
	_, overHTTP := flowOf("login.token")
	for name, c := range map[string]struct {
		library     caller.Caller
		calls       []service.Spec
		address     string
		code, start string
	}{
		"grpc-go":             {grpcgo.Caller{}, overGRPC, grpcAddress, "PERMISSION_DENIED", "step get: rpc error: code = PermissionDenied desc = go away"},
		"http":                {nethttp.Caller{}, overHTTP, httpAddress, "HTTP_403", "step get: HTTP 403: "},
		"wire":                {wire.Caller{}, overGRPC, grpcAddress, "PERMISSION_DENIED", "step get: go away"},
		"wire over HTTP":      {wire.Caller{}, overHTTP, httpAddress, "HTTP_403", "step get: HTTP 403: "},
		"wire, per-call":      {wire.Caller{}, overGRPC, grpcAddress, "PERMISSION_DENIED", "step get: go away"},
		"wire, HTTP per-call": {wire.Caller{}, overHTTP, httpAddress, "HTTP_403", "step get: HTTP 403: "},
	} {
		t.Run(name, func(t *testing.T) {
			channels := caller.Channels{Mode: caller.Shared}
			if strings.HasSuffix(name, caller.PerCall) {
				channels.Mode = caller.PerCall
			}
			job := caller.Job{Channels: channels, Timeout: 10 * time.Second, Calls: c.calls, Flow: true}
			session := callertest.Open(t, c.library, job, caller.Target{URI: "passthrough:///" + c.address, Close: func() {}})
			m := callertest.Load(t, session, pace.Closed{Users: 3, Calls: 20, Duration: time.Minute})
			got := fmt.Sprint(m.Calls, m.Errors, m.ByName["login"].Calls, m.ByName["login"].Errors, m.ByName["get"].Calls, m.ByName["get"].Errors)
			if want := fmt.Sprintf("20 map[%s:2] 20 map[] 20 map[%s:2]", c.code, c.code); got != want || !strings.HasPrefix(m.Samples[c.code], c.start) {
				t.Errorf("%s, want %s with the sample %q: %q", got, want, c.start, m.Samples)
			}
			if m.Backends[c.address] != 36 {
				t.Errorf("the calls of the flows that succeeded had the backends %v, want 36 of %s", m.Backends, c.address)
			}
		})
	}
}

// slowLogin reports the deadlines of calls, and answers those without a token late.
type slowLogin struct {
	rpclabv1.UnimplementedGreeterServer
	delay     time.Duration
	deadlines chan time.Time
}

func (s slowLogin) SayHello(ctx context.Context, r *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	deadline, _ := ctx.Deadline()
	s.deadlines <- deadline
	if !strings.HasPrefix(r.Name, "known ") {
		<-time.After(s.delay)
	}
	return &rpclabv1.HelloReply{Message: "x"}, nil
}

// TestTheTimeoutIsOfTheWholeFlow: both steps have the same deadline.
func TestTheTimeoutIsOfTheWholeFlow(t *testing.T) {
	for name, library := range map[string]caller.Caller{"grpc-go": grpcgo.Caller{}, "wire": wire.Caller{}} {
		s := slowLogin{delay: time.Second, deadlines: make(chan time.Time, 2)}
		address := serve(t, s)
		calls, _ := flowOf("login.message")
		job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Calls: calls, Flow: true}
		session := callertest.Open(t, library, job, caller.Target{URI: "passthrough:///" + address, Close: func() {}})
		if m := callertest.Load(t, session, pace.Closed{Users: 1, Calls: 1, Duration: time.Minute}); len(m.Errors) > 0 {
			t.Fatalf("%s: %v", name, m.Samples)
		}
		if first, second := <-s.deadlines, <-s.deadlines; second.Sub(first) >= s.delay {
			t.Errorf("%s: the deadline of the second step is %v after that of the first", name, second.Sub(first))
		}
	}
}

// TestFlowsOfTheEngine: flows that run out of time, that take a value which is not there, and that are due in an open
// loop are counted as those of other callers.
func TestFlowsOfTheEngine(t *testing.T) {
	grpcAddress, httpAddress := openDoor(t)
	open := func(calls []service.Spec, address string, timeout time.Duration) caller.Session {
		job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: timeout, Calls: calls, Flow: true}
		return callertest.Open(t, wire.Caller{}, job, caller.Target{URI: "passthrough:///" + address, Close: func() {}})
	}
	calls, overHTTP := flowOf("login.message")
	session := open(calls, grpcAddress, time.Minute)
	for range 2 { // the numbers of flows begin again
		m := callertest.Load(t, session, pace.Rate{PerSecond: 500, Duration: 100 * time.Millisecond, Max: 1000})
		if m.Calls != 50 || m.ByName["get"].Calls != 50 || len(m.Errors) != 1 || m.Errors["PERMISSION_DENIED"] != 5 {
			t.Errorf("open loop: %d flows, errors %v %v; want 50, of which 5 are refused", m.Calls, m.Errors, m.Samples)
		}
	}
	m := callertest.Load(t, open(overHTTP, httpAddress, time.Minute), pace.Sequence(3))
	if want := "step get: create the metadata: from.token of call get: no such key: message"; m.Errors["INTERNAL"] != 3 || m.Samples["INTERNAL"] != want {
		t.Errorf("a value that is not there: errors %v %v, want 3 and %s", m.Errors, m.Samples, want)
	}
	slow := slowLogin{delay: 200 * time.Millisecond, deadlines: make(chan time.Time, 20)}
	calls, _ = flowOf("login.message")
	m = callertest.Load(t, open(calls, serve(t, slow), 100*time.Millisecond), pace.Burst{Calls: 5})
	if login := m.ByName["login"]; m.Errors["DEADLINE_EXCEEDED"] != 5 || login.Errors["DEADLINE_EXCEEDED"] != 5 || m.ByName["get"].Calls != 0 {
		t.Errorf("a slow server: errors %v, by name %+v; want 5 flows that end at login", m.Errors, m.ByName)
	}
}

func TestWrongFlowsAreRefusedBeforeTheFirstCall(t *testing.T) {
	grpcAddress, _ := openDoor(t)
	for name, c := range map[string]struct {
		library caller.Caller
		from    string
		want    string
	}{
		"no field":  {grpcgo.Caller{}, "login.token", "from.token of call get: \"login.token\": column 6: undefined field 'token'; the answers before get in the flow are login"},
		"no answer": {grpcgo.Caller{}, "get.message", "undeclared reference to 'get'"},
		"wire":      {wire.Caller{}, "login.token", "undefined field 'token'"},
	} {
		calls, _ := flowOf(c.from)
		job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 10 * time.Second, Calls: calls, Flow: true}
		session, err := c.library.Open(job, caller.Target{URI: "passthrough:///" + grpcAddress, Close: func() {}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if session != nil && err == nil {
			_ = session.Close()
		}
	}
}
