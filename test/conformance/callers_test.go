package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

// These tests check every caller against servers/CONTRACT.md.

// counted is a listener that counts connections.
type counted struct {
	net.Listener
	connections, open atomic.Int32
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.connections.Add(1)
		c.open.Add(1)
		conn = &closing{Conn: conn, closed: func() { c.open.Add(-1) }}
	}
	return conn, err
}

// closing is a connection that reports its first close.
type closing struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *closing) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// serving runs a Go server of the model that a caller needs.
func serving(t *testing.T, k callerKind, server *workload.Server) *counted {
	t.Helper()
	listener := listening(t)
	server.ID, server.Log = "b", slog.New(slog.DiscardHandler)
	if k.rest {
		server.Model = workload.REST
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener
}

func listening(t *testing.T) *counted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &counted{Listener: listener}
}

var methods = map[string][2]string{
	"greet":     {rpclabv1.Greeter_SayHello_FullMethodName, "/greet"},
	"fibonacci": {rpclabv1.Fibonacci_Compute_FullMethodName, "/fibonacci"},
	"increase":  {rpclabv1.Chain_Increase_FullMethodName, "/increase"},
	"orders":    {rpclabv1.OrderService_PlaceOrder_FullMethodName, "/orders"},
}

// jobAt returns a job for a server, with changes.
func jobAt(k callerKind, addr, work string, spec any, changes fields) fields {
	j := fields{"kind": k.name, "target": addr, "method": methods[work][0], "path": methods[work][1],
		"workload": fields{work: spec}, "channel": "shared", "timeout_ns": int64(30 * time.Second), "service_config": "", "compress": false, "stream": ""}
	if k.rest {
		j["target"] = "http://" + addr
	}
	maps.Copy(j, changes)
	return j
}

func inTurn(users, calls int) fields { return fields{"closed": fields{"users": users, "calls": calls}} }

func TestCallersMakeTheCallsOfEveryPace(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		server := &workload.Server{}
		addr := serving(t, k, server).Addr().String()
		c := callsFor(t, command, jobAt(k, addr, "increase", fields{}, nil)).ready(t)
		c.allAnswered(t, c.load(t, inTurn(1, 200)), 200, "b")
		c.allAnswered(t, c.load(t, inTurn(7, 100)), 100, "b")
		c.allAnswered(t, c.load(t, fields{"burst": fields{"calls": 30}}), 30, "b")
		at := time.Now().Add(time.Second)
		of := c.load(t, fields{"at_ns": at.UnixNano(), "open": fields{"rate": 100, "first_ns": 5_000_000, "duration_ns": 300_000_000}})
		c.allAnswered(t, of, 30, "b")
		for _, call := range of.calls {
			if due := at.Add(5*time.Millisecond + time.Duration(call.N)*10*time.Millisecond); time.Unix(0, call.Due).Sub(due).Abs() > time.Microsecond {
				t.Errorf("call %d was due at %d, want %d", call.N, call.Due, due.UnixNano())
			}
		}
		thinking := fields{"closed": fields{"users": 2, "think_ns": 50_000_000, "duration_ns": 400_000_000}}
		of = c.load(t, thinking)
		if n := len(of.calls); n < 2 || n > 16 {
			t.Errorf("2 users with 50 ms of think time made %d calls in 400 ms, want at most 16", n)
		}
		c.allAnswered(t, of, len(of.calls), "b")
		at = time.Now().Add(time.Second)
		ramp := c.load(t, fields{"at_ns": at.UnixNano(), "closed": fields{"users": 4, "think_ns": 1_000_000_000, "ramp_ns": 200_000_000, "duration_ns": 900_000_000}})
		if len(ramp.calls) != 4 { // their numbers may have gaps: a user takes one before it knows that its call is due too late
			t.Errorf("4 users who think longer than the load made %d calls", len(ramp.calls))
		}
		slices.SortFunc(ramp.calls, func(a, b called) int { return cmp.Compare(a.Due, b.Due) })
		for user, call := range ramp.calls {
			if due := at.Add(time.Duration(user) * 50 * time.Millisecond); time.Unix(0, call.Due).Sub(due).Abs() > time.Microsecond || call.Sent < call.Due || call.Code != 0 {
				t.Errorf("the first call of user %d was due at %d and sent at %d, code %d; want %d, and no earlier", user, call.Due, call.Sent, call.Code, due.UnixNano())
			}
		}
		var count strings.Builder
		if server.WriteCount(&count); count.String() != fmt.Sprintln(364+len(of.calls)) {
			t.Errorf("the server counted %s calls", count.String())
		}
	})
}

func TestCallersMakeTheCallsOfEveryWorkload(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		addr := serving(t, k, &workload.Server{}).Addr().String()
		for work, spec := range map[string]fields{"greet": {}, "fibonacci": {"from": 90, "to": 110}, "orders": {"articles": 20}} {
			c := callsFor(t, command, jobAt(k, addr, work, spec, fields{"compress": k.streams})).ready(t)
			c.allAnswered(t, c.load(t, inTurn(2, 40)), 40, "b")
		}
	})
}

func TestCallersOpenTheRequestedConnections(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		const calls = 10
		for channel, want := range map[string]int32{"shared": 1, "per-call": calls} {
			if k.name == "requests" || k.name == "requests-session" {
				want = map[string]int32{"requests": calls, "requests-session": 1}[k.name] // whatever the channel
			}
			listener := serving(t, k, &workload.Server{})
			c := callsFor(t, command, jobAt(k, listener.Addr().String(), "increase", fields{}, fields{"channel": channel})).ready(t)
			c.allAnswered(t, c.load(t, inTurn(1, calls)), calls, "b")
			if n := listener.connections.Load(); n != want {
				t.Errorf("%s: %d connections for %d calls, want %d", channel, n, calls, want)
			}
		}
	})
}

func TestCallersMakeCallsOnStreams(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		if !k.streams {
			return
		}
		addr := serving(t, k, &workload.Server{}).Addr().String()
		for stream, loads := range map[string][]fields{
			"ping-pong": {inTurn(1, 200), inTurn(3, 100)},
			"pipelined": {inTurn(1, 200), {"burst": fields{"calls": 100}}},
		} {
			c := callsFor(t, command, jobAt(k, addr, "increase", fields{}, fields{"stream": stream, "method": rpclabv1.Chain_Increases_FullMethodName, "compress": true})).ready(t)
			c.allAnswered(t, c.load(t, loads[0]), 200, "b")
			c.allAnswered(t, c.load(t, loads[1]), 100, "b")
		}
	})
}

// liar returns a wrong number.
type liar struct {
	rpclabv1.UnimplementedChainServer
}

func (liar) Increase(ctx context.Context, n *rpclabv1.Number) (*rpclabv1.Number, error) {
	return &rpclabv1.Number{Value: n.Value + 2}, grpc.SetTrailer(ctx, metadata.Pairs(workload.BackendTrailer, "liar"))
}

func (liar) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set(workload.BackendHeader, "liar")
	_, _ = io.WriteString(w, `{"value": 7}`)
}

func TestCallersReportWrongResponses(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		listener := listening(t)
		if k.rest {
			server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: liar{}}}
			server.Start()
			t.Cleanup(server.Close)
		} else {
			server := grpc.NewServer()
			rpclabv1.RegisterChainServer(server, liar{})
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
		}
		c := callsFor(t, command, jobAt(k, listener.Addr().String(), "increase", fields{}, nil)).ready(t)
		of := c.load(t, inTurn(1, 5))
		if codes := c.check(t, of, 5); codes[255] != 5 || strings.Join(c.named, " ") != "liar" {
			t.Errorf("wrong responses of %q have the codes %v, want DATA_LOSS", c.named, codes)
		}
		if k.rest { // its response lacks a field
			c := callsFor(t, command, jobAt(k, listener.Addr().String(), "fibonacci", fields{"from": 5, "to": 9}, nil)).ready(t)
			for _, l := range []fields{inTurn(1, 5), inTurn(2, 5), {"burst": fields{"calls": 5}}} {
				if codes := c.check(t, c.load(t, l), 5); codes[255] != 5 {
					t.Errorf("responses without a field have the codes %v in %v, want DATA_LOSS", codes, l)
				}
			}
		}
	})
}

func TestCallersReportFailures(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		fails := func(what string, j fields, want codes.Code) {
			t.Helper()
			c := callsFor(t, command, j).ready(t)
			if all := c.check(t, c.load(t, inTurn(2, 4)), 4); all[uint8(want)] != 4 {
				t.Errorf("%s: codes %v, want %d", what, all, want)
			}
		}
		slow := serving(t, k, &workload.Server{Delay: 5 * time.Second}).Addr().String()
		fails("too late", jobAt(k, slow, "greet", fields{}, fields{"timeout_ns": 300_000_000}), codes.DeadlineExceeded)
		fails("nobody listens", jobAt(k, free(t), "increase", fields{}, nil), codes.Unavailable)
		ails := &workload.Server{}
		addr := serving(t, k, ails).Addr().String()
		ails.SetFault(workload.Fault{Code: codes.Unavailable})
		fails("an error loop", jobAt(k, addr, "increase", fields{}, nil), codes.Unavailable)
		if k.streams {
			on := fields{"stream": "ping-pong", "method": rpclabv1.Chain_Increases_FullMethodName}
			fails("nobody listens for streams", jobAt(k, free(t), "increase", fields{}, on), codes.Unavailable)
			fails("an error loop on streams", jobAt(k, addr, "increase", fields{}, on), codes.Unavailable)
			late := fields{"stream": "pipelined", "method": rpclabv1.Greeter_Greetings_FullMethodName, "timeout_ns": 300_000_000}
			fails("too late on a stream", jobAt(k, slow, "greet", fields{}, late), codes.DeadlineExceeded)
		}
	})
}

// grpcio takes messages of a stream in a thread of its own, also while the caller records those that a broken stream lost.
func TestALostCallIsSentBeforeItsStreamEnds(t *testing.T) {
	const program = `
from rpclab_servers.caller.output import CALL, Calls
calls = Calls(None, 0)
calls.record_lost(0, [calls.start + 2], 2, calls.start + 1, 14)
for record in calls.records:
    n, due, sent, answered, code, backend = CALL.unpack(record)
    assert due <= sent <= answered, f"call {n}: due at {due}, sent at {sent}, answered at {answered}"
`
	command := builtNamed(t, "python")
	python := command[:len(command)-2] // without -m and the module
	if out, err := exec.Command(python[0], append(python[1:len(python):len(python)], "-c", program)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCallersReportWhyAJobIsImpossible(t *testing.T) {
	eachCaller(t, func(t *testing.T, k callerKind, command []string) {
		for quoted, line := range map[string]any{
			"sonnet":   "sonnet",
			"steam":    jobAt(k, "127.0.0.1:1", "increase", fields{}, fields{"kind": "steam"}),
			"workload": jobAt(k, "127.0.0.1:1", "increase", fields{}, fields{"workload": fields{}}),
			"target":   jobAt(k, "127.0.0.1:1", "increase", fields{}, fields{"target": ""}),
		} {
			if why := callsFor(t, command, line).impossible(t); !strings.Contains(why, quoted) {
				t.Errorf("%v: the reason is %q", line, why)
			}
		}
		c := callsFor(t, command, jobAt(k, "127.0.0.1:1", "increase", fields{}, nil)).ready(t)
		c.say(t, []byte(`{"closed": {"users": 0}}`))
		if why := c.impossible(t); !strings.Contains(why, "users") {
			t.Errorf("a load without users: the reason is %q", why)
		}
	})
}

func TestCallersMeasureAFunctionWithoutAServer(t *testing.T) {
	c := callsFor(t, builtNamed(t, "python"), fields{"kind": "function", "workload": fields{"increase": fields{}}}).ready(t)
	c.allAnswered(t, c.load(t, inTurn(1, 10_000)), 10_000, "function")
}
