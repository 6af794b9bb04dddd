package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/workload"
)

const (
	calls       = 20_000
	users       = 50
	connections = 4
	// fewCalls are for slow servers. They still fill every connection with streams, but take seconds
	// instead of minutes.
	fewCalls = 5000
)

// greet is a call of SayHello whose name is different in each call, so that an answer to another call is
// detected.
func greet() wire.Call {
	return wire.Call{
		Method: rpclabv1.Greeter_SayHello_FullMethodName, Backend: workload.BackendTrailer,
		AppendMessage: func(n uint64, _ int, dst []byte) ([]byte, error) {
			return proto.MarshalOptions{}.MarshalAppend(dst, &rpclabv1.HelloRequest{Name: caller(n)})
		},
		Check: func(n uint64, answer []byte, backend string) error {
			reply := &rpclabv1.HelloReply{}
			if err := proto.Unmarshal(answer, reply); err != nil {
				return err
			}
			if reply.Message != "Hello, "+caller(n) || reply.Backend != backend || backend == "" {
				return fmt.Errorf("call %d: wrong response %q of %q, trailer %q", n, reply.Message, reply.Backend, backend)
			}
			return nil
		},
	}
}

func caller(n uint64) string { return "caller " + strconv.FormatUint(n, 10) }

// load makes calls over a few connections with many calls in flight on each.
func load(t *testing.T, addr string, call wire.Call, calls uint64) measure.Measurement {
	t.Helper()
	e, err := wire.New(wire.Config{Addresses: []string{addr}, Channels: connections, Timeout: 30 * time.Second}, call)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	recorder, _, err := e.Run(t.Context(), pace.Closed{Users: users, Calls: calls}, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls in %v: %v", m.Calls, m.Elapsed.Round(time.Millisecond), m.Backends)
	return m
}

// answered requires that all calls have correct answers and every backend answered some.
func answered(t *testing.T, m measure.Measurement, ids []string, calls uint64) {
	t.Helper()
	var sum uint64
	for _, n := range m.Backends {
		sum += n
	}
	if m.Calls != calls || sum != calls || len(m.Errors) > 0 || m.Dropped > 0 {
		t.Errorf("%d of %d calls ended, %d with success, %d dropped; errors %v %v", m.Calls, calls, sum, m.Dropped, m.Errors, m.Samples)
	}
	if got := slices.Sorted(maps.Keys(m.Backends)); !slices.Equal(got, ids) {
		t.Errorf("the backends of the answers are %v, want %v", got, ids)
	}
}
