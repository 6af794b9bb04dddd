package load

import (
	"context"
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
