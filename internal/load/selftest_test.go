package load

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// The self-test of a busy machine may be slower than the load was.
func TestACeilingUnderWhatTheLoadAchievedIsNotKnown(t *testing.T) {
	s := validSettings()
	s.Target, s.Calls, s.Concurrency = greeter(t), 20, 2
	document := runWith(t, s, func(context.Context, Probe) (*SelfTestResult, error) {
		return &SelfTestResult{Engine: Wire, CeilingRate: new(0.1)}, nil
	})
	if figures, ok := document.Arms[0].Config["generator"].(SelfTestResult); !ok || figures.CeilingRate != nil {
		t.Errorf("after %.0f calls/s the ceiling is %v calls/s, want none", document.Arms[0].Rate, *figures.CeilingRate)
	}
	var text strings.Builder
	if err := result.Write(&text, document); err != nil || !strings.Contains(text.String(), `"ceiling_calls_per_s": null`) {
		t.Errorf("%v; the document does not contain the ceiling null", err)
	}
}

// A search makes more calls in probes that fail than at the rate that holds.
func TestACeilingUnderWhatAProbeAchievedIsNotKnown(t *testing.T) {
	probes := []result.Probe{
		{Rate: 100, DurationMS: 500, Calls: 50, Held: true}, {Rate: 900, DurationMS: 500, Calls: 450, Errors: 50},
		{Rate: 5000, DurationMS: 500, Calls: 1000, Limited: "late"},
	}
	for ceiling, known := range map[float64]bool{90: false, 700: false, 1000: true} {
		d := result.Document{Arms: []result.Arm{{Trials: []result.Trial{{Measures: result.Measures{Rate: 100}, Capacity: &result.Capacity{Probes: probes}}}}}}
		d.Arms[0].Config = map[string]any{}
		d = (&Load{settings: validSettings()}).Complete(d, &SelfTestResult{CeilingRate: &ceiling}, "")
		if figures := d.Arms[0].Config["generator"].(SelfTestResult); (figures.CeilingRate != nil) != known {
			t.Errorf("a ceiling of %g/s after a probe with 800 calls/s is known: %v, want %v", ceiling, !known, known)
		}
	}
}

// A server in the process of grpc-go answered faster than any other could: its floor was below that of
// the engine wire. Other programs only slow a self-test down, so the smallest of its floors counts.
func TestTheFloorsOfBothEnginesAreComparable(t *testing.T) {
	least := map[string]*SelfTestResult{}
	for try := 1; ; try++ {
		for _, engine := range []string{Wire, GRPCGo} {
			figures, err := SelfTest(t.Context(), Probe{Engine: engine, Request: 16, Reply: 16, Duration: 150 * time.Millisecond, Self: []string{os.Args[0]}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: a call takes %.1f µs, the bytes alone %.1f µs", engine, figures.FloorP50, figures.PingP50)
			if best := least[engine]; best != nil {
				figures.FloorP50, figures.PingP50 = min(figures.FloorP50, best.FloorP50), min(figures.PingP50, best.PingP50)
			}
			least[engine] = figures
		}
		wire, grpc := least[Wire], least[GRPCGo]
		switch {
		case grpc.FloorP50 > grpc.PingP50 && grpc.FloorP50 > wire.FloorP50:
			return
		case try == 10:
			t.Fatalf("a call of grpc-go takes %.1f µs, want more than a call of wire (%.1f µs) and than its bytes alone (%.1f µs)", grpc.FloorP50, wire.FloorP50, grpc.PingP50)
		}
	}
}

func TestAServerOfTheSelfTestThatDoesNotStartIsAnError(t *testing.T) {
	_, err := SelfTest(t.Context(), Probe{Engine: Wire, Self: []string{"sh", "-c", "echo no memory >&2; exit 7", "sh"}})
	if err == nil || !strings.Contains(err.Error(), "the server of the self-test ended unexpectedly: exit status 7") || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("the error is %v, want exit status 7 with the last line", err)
	}
}

// A third of a self-test in which every call failed has no service time.
func TestAFloorIsOfAnsweredCalls(t *testing.T) {
	failed := measure.NewRecorder(0)
	failed.Record(measure.Call{Done: time.Millisecond, Code: "UNAVAILABLE"})
	measured, err := failed.Measurement()
	p50, p99 := 20., 30.
	if err := errors.Join(err, faster(&p50, &p99, measured)); err != nil || p50 != 20 || p99 != 30 {
		t.Errorf("after a failed measurement the floor is %g and %g µs, %v; want 20 and 30 µs", p50, p99, err)
	}
}

func TestAnInterruptEndsTheExchangeWithAPeerThatDoesNotAnswer(t *testing.T) {
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		connection, err := peer.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.ReadFull(connection, make([]byte, 17)) // the sizes, and the first message
		interrupt()
		_, _ = connection.Read(make([]byte, 1))
	}()
	if _, err := pingPong(ctx, peer.Addr().String(), 1, 1, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("after the interrupt the error is %v", err)
	}
	<-closed
}

func TestACeilingIsOfAnsweredCalls(t *testing.T) {
	figures := new(SelfTestResult)
	figures.addCeiling(measure.Measurement{Calls: 500, Errors: map[string]uint64{"UNAVAILABLE": 500}, Elapsed: time.Second})
	if figures.CeilingRate != nil {
		t.Errorf("without an answer the ceiling is %g calls/s, want none", *figures.CeilingRate)
	}
	figures.addCeiling(measure.Measurement{Calls: 500, Errors: map[string]uint64{"UNAVAILABLE": 100}, Elapsed: time.Second})
	if figures.CeilingRate == nil || *figures.CeilingRate != 400 {
		t.Errorf("the ceiling of 400 answers in a second is %v", figures.CeilingRate)
	}
}
