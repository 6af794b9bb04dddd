package load

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
)

func TestAWaitForAStreamIsAWarning(t *testing.T) {
	settings := validSettings()
	settings.Target, settings.Concurrency, settings.Calls, settings.Streams = greeter(t), 4, 40, 1
	if warnings := strings.Join(run(t, settings).Warnings, "\n"); !strings.Contains(warnings, "of 40 calls (") ||
		!strings.Contains(warnings, "waited in rpclab for a stream, because --streams limits the calls on a connection to 1: raise it or use more --connections") {
		t.Errorf("the warnings are %q, want one of --streams", warnings)
	}
	settings.Streams = 0
	if warnings := strings.Join(run(t, settings).Warnings, "\n"); strings.Contains(warnings, "for a stream") {
		t.Errorf("without a limit the warnings are %q, want none about streams", warnings)
	}
}

// Calls that run one after another have service times that hardly overlap: grpc-go frees a stream before the call
// that had it continues. From when the calls were due, the times would add up to ten times the run.
func TestAWaitForAStreamOfTheServerIsLatenessForBothEngines(t *testing.T) {
	const calls, delay = 20, 10 * time.Millisecond
	server := grpc.NewServer(grpc.MaxConcurrentStreams(1))
	answer := func(_ any, stream grpc.ServerStream) error {
		<-time.After(delay)
		return stream.SendMsg(&rpclabv1.HelloRequest{})
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Once", Handler: answer}, {StreamName: "Repeat", Handler: answer, ServerStreams: true},
	}}, nil)
	address := serveGRPC(t, server)
	for engine, want := range map[string]string{
		Wire:   "waited in rpclab for a stream, because the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)",
		GRPCGo: "waited over 1 ms in grpc-go: for a stream, if the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)",
	} {
		for _, method := range []string{"Once", "Repeat"} {
			s := streaming(address, method, 0, false)
			s.Engine, s.Calls, s.Concurrency = engine, calls, calls
			document := run(t, s)
			arm := document.Arms[0]
			if took, sum := arm.ElapsedMS, arm.Service.Mean*calls; arm.Calls != calls || len(arm.Errors) > 0 || sum > 2*took || arm.Lateness.Max < float64(calls*delay/time.Millisecond/2) {
				t.Errorf("%s, %s: %d calls in turn took %.0f ms, but their service times add up to %.0f ms; the last was late by %.0f ms; errors %v", engine, method, arm.Calls, took, sum, arm.Lateness.Max, arm.Samples)
			}
			if warnings := strings.Join(document.Warnings, "\n"); !strings.Contains(warnings, want) {
				t.Errorf("%s, %s: the warnings are %q, want one with %q", engine, method, warnings, want)
			}
		}
	}
}
