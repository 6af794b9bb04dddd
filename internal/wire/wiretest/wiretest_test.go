package wiretest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // grpc-go decodes only what is registered
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// differs are scenarios in which grpc-go does not do what the specifications say, and
// what it does.
var differs = map[string]string{
	"reset: FLOW_CONTROL_ERROR":         "RESOURCE_EXHAUSTED",
	"first frame is an acknowledgement": "takes it",
	"frames of 1 byte at most":          "takes it",
	"frames of 2^24 bytes at most":      "takes it",
	"push enabled by 2":                 "takes it",
	"stream window over 2^31-1":         "takes it",
	"connection window over 2^31-1":     "takes it",
	"HEADERS on an even stream":         "takes no notice",
	"DATA on an even stream":            "takes no notice",
	"HEADERS on an idle stream":         "takes no notice",
	"DATA on an idle stream":            "takes no notice",
	"RST_STREAM on an idle stream":      "takes no notice",
	"WINDOW_UPDATE on an idle stream":   "takes no notice",
	"PUSH_PROMISE":                      "takes no notice",
	"DATA before HEADERS":               "takes no notice",
	"empty CONTINUATION without an end": "takes all of them, until the deadline",
	"no :status":                        "goes by the content type",
	":status that is no number":         "goes by the content type",
	"field of the connection":           "takes it",
	"pseudo-header in trailers":         "takes it",
	"no grpc-status":                    "UNKNOWN, but says nothing of why",
	"no trailers but their frame":       "UNKNOWN, but says nothing of why",
	"grpc-status below zero":            "makes it 2^32-1",
}

// grpc-go is the reference: calls to a scenario must end as the scenario expects.
func TestGRPCGoEndsCallsAsEveryScenarioExpects(t *testing.T) {
	for _, s := range wiretest.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			how, other := differs[s.Name]
			if other {
				s.Timeout = 200 * time.Millisecond
			}
			addr := wiretest.Serve(t, s)
			channel, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer channel.Close()
			outcomes := map[string]int{}
			for _, got := range calls(t, channel, s) {
				outcomes[got.code+": "+got.message]++
				if !s.Want.Accepts(got.code, got.message) {
					outcomes["unwanted"]++
				}
			}
			switch {
			case outcomes["unwanted"] > 0 && !other:
				t.Errorf("wanted %v %q, got %v", s.Want.Codes, s.Want.Message, outcomes)
			case outcomes["unwanted"] == 0 && other:
				t.Errorf("grpc-go should differ (%s), but does not: %v", how, outcomes)
			}
		})
	}
}

type outcome struct{ code, message string }

// calls makes the calls of a scenario over a channel.
func calls(t *testing.T, channel *grpc.ClientConn, s wiretest.Scenario) []outcome {
	var next atomic.Int64
	var users sync.WaitGroup
	outcomes := make([]outcome, s.Calls)
	for range s.InFlight {
		users.Go(func() {
			for n := next.Add(1); n <= int64(s.Calls); n = next.Add(1) {
				outcomes[n-1] = call(t.Context(), channel, s)
			}
		})
	}
	users.Wait()
	return outcomes
}

func call(ctx context.Context, channel *grpc.ClientConn, s wiretest.Scenario) outcome {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var reply []byte
	err := channel.Invoke(ctx, wiretest.Method, s.Request(), &reply, grpc.ForceCodecV2(raw{}),
		grpc.WaitForReady(s.Valid), grpc.MaxCallRecvMsgSize(s.MaxMessage))
	if err == nil && string(reply) != string(s.Reply()) {
		err = fmt.Errorf("a wrong response of %d bytes", len(reply))
	}
	return outcome{caller.Code(err), status.Convert(err).Message()}
}

// raw sends and takes messages as bytes.
type raw struct{}

var _ encoding.CodecV2 = raw{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
