package otlp

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
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

// sizes is a sender that only keeps the size of the largest request.
type sizes struct{ largest atomic.Int64 } // bytes

func (s *sizes) send(_ context.Context, _ signal, request, _ proto.Message) error {
	s.largest.Store(max(s.largest.Load(), int64(proto.Size(request))))
	return nil
}

func (s *sizes) close() {}

func TestRequestsOfManyArmsAreBounded(t *testing.T) {
	t.Parallel()
	receiver := &sizes{}
	e := &exporter{sender: receiver, queue: telemetry.NewQueue(), spans: newSpans(experiment.Plan{}, "id"), phases: telemetry.PhaseTimes{}}
	for arm := range 10_000 { // the most that an experiment may have
		for phase := range 6 {
			e.phases.Add(lab.Phase{Name: fmt.Sprint("phase ", phase), Trial: experiment.Trial{Arm: fmt.Sprint("arm ", arm)}, Ended: time.Now()})
		}
	}
	if err := e.End(result.Document{}, nil); err != nil {
		t.Fatal(err)
	}
	if most := receiver.largest.Load(); most > 2<<20 || most == 0 {
		t.Errorf("the largest request has %d bytes, want 2 MiB at most: receivers accept 4", most)
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
