package otlp

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/telemetry"
)

// sizes is a sender that only keeps the sizes of requests, in bytes.
type sizes struct{ largest, all atomic.Int64 }

func (s *sizes) send(_ context.Context, _ signal, request, _ proto.Message) error {
	s.all.Add(int64(proto.Size(request)))
	s.largest.Store(max(s.largest.Load(), int64(proto.Size(request))))
	return nil
}

func (s *sizes) close() {}

func TestRequestsOfManyArmsAreBounded(t *testing.T) {
	t.Parallel()
	receiver := &sizes{}
	synctest.Test(t, func(t *testing.T) { // a busy machine does not send all in time
		e := &exporter{sender: receiver, queue: telemetry.NewQueue(), spans: newSpans(experiment.Plan{}, "id")}
		for arm := range 10_000 { // the most that an experiment may have
			for phase := range 6 {
				e.phases.Add(lab.Phase{Name: fmt.Sprint("phase ", phase), Trial: experiment.Trial{Arm: fmt.Sprint("arm ", arm)}, Ended: time.Now()})
			}
		}
		if err := e.End(result.Document{}, nil); err != nil {
			t.Fatal(err)
		}
	})
	if most := receiver.largest.Load(); most > 2<<20 || most == 0 {
		t.Errorf("the largest request has %d bytes, want 2 MiB at most: receivers accept 4", most)
	}
}

// A trial sends the times of its own phases, however many arms have ended before. The end sends all once more.
func TestTrafficGrowsWithTheArms(t *testing.T) {
	t.Parallel()
	sent := func(arms int) int64 {
		receiver := &sizes{}
		e := &exporter{sender: receiver, queue: telemetry.NewQueue(), spans: newSpans(experiment.Plan{}, "id")}
		for arm := range arms {
			trial := experiment.Trial{Arm: fmt.Sprintf("arm %04d", arm)}
			e.Phase(lab.Phase{Name: lab.PhaseLoad, Trial: trial, Ended: time.Now()})
			e.Show(lab.Progress{Trial: trial, Ended: &result.Trial{}})
		}
		if err := e.End(result.Document{}, nil); err != nil {
			t.Fatal(err)
		}
		return receiver.all.Load()
	}
	few, many := sent(20), sent(200)
	t.Logf("20 arms: %d bytes, 200: %d", few, many)
	if many > 11*few {
		t.Errorf("20 arms send %d bytes, and ten times as many arms %d; want about ten times as many", few, many)
	}
}

// An answer says why an arm gave no measurement.
func TestTheAnswerHasNoPaths(t *testing.T) {
	t.Parallel()
	e := &exporter{sender: &sizes{}, queue: telemetry.NewQueue(), spans: newSpans(experiment.Plan{}, "id")}
	d := result.Document{ID: "id", Arms: []result.Arm{
		{Name: "one", Measures: result.Measures{Calls: 1}}, {Name: "two", Trials: []result.Trial{{Round: 1, Failed: "cannot start /home/somebody/orders"}}},
	}}
	if err := e.End(d, nil); err != nil {
		t.Fatal(err)
	}
	answer := ""
	for _, a := range e.spans.run.Attributes {
		if a.Key == "rpclab.answer" {
			answer = a.Value.GetStringValue()
		}
	}
	if !strings.Contains(answer, "cannot start …/orders") || strings.Contains(answer, "somebody") {
		t.Errorf("the answer is %q, want the name of the program without its directory", answer)
	}
}

func TestWhichRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	tooLarge := status.New(codes.ResourceExhausted, "received message larger than max")
	throttled, err := tooLarge.WithDetails(&errdetails.RetryInfo{})
	if err != nil {
		t.Fatal(err)
	}
	for want, all := range map[bool][]error{
		true:  {status.Error(codes.Unavailable, ""), throttled.Err()},
		false: {nil, status.Error(codes.Unauthenticated, ""), tooLarge.Err()},
	} {
		for _, err := range all {
			if got := isTemporary(err); got != want {
				t.Errorf("%v is temporary: %v, want %v", err, got, want)
			}
		}
	}
}
