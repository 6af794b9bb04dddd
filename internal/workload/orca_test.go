package workload_test

import (
	"sync"
	"testing"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/protobuf/proto"

	"rpclab/internal/workload"
)

// What a client makes of a report (gRFC A58): calls a second over utilization.
func weight(t *testing.T, s *workload.Server, users int) float64 {
	t.Helper()
	channel, _, _ := serve(t, s)
	var last orcav3.OrcaLoadReport
	var mu sync.Mutex
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for end := time.Now().Add(time.Second); time.Now().Before(end); {
				_, trailer, err := greet(t.Context(), channel)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if err := proto.Unmarshal([]byte(trailer.Get("endpoint-load-metrics-bin")[0]), &last); err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return last.RpsFractional / last.ApplicationUtilization
}

func TestAServerThatIsSlowerReportsSoMuchLessWeight(t *testing.T) {
	fast := weight(t, &workload.Server{ID: "fast", Delay: 20 * time.Millisecond, ReportLoad: true}, 4)
	slow := weight(t, &workload.Server{ID: "slow", Delay: 200 * time.Millisecond, ReportLoad: true}, 4)
	if ratio := fast / slow; ratio < 4 || ratio > 14 { // 10, less what a busy machine adds to 20 ms
		t.Errorf("weights %.0f and %.0f: %.1f times as much, want about 10", fast, slow, ratio)
	}
}

// Calls that queue for a worker count as under way.
func TestAServerThatQueuesReportsLessWeight(t *testing.T) {
	free := weight(t, &workload.Server{ID: "free", Delay: 10 * time.Millisecond, ReportLoad: true}, 8)
	full := weight(t, &workload.Server{ID: "full", Delay: 10 * time.Millisecond, Workers: 1, ReportLoad: true}, 8)
	if ratio := free / full; ratio < 3 {
		t.Errorf("weights %.0f and %.0f: %.1f times as much, want about 8", free, full, ratio)
	}
}

func TestAServerReportsNoLoadUnlessItIsTold(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	_, trailer, err := greet(t.Context(), channel)
	if err != nil || len(trailer.Get("endpoint-load-metrics-bin")) > 0 {
		t.Errorf("trailer %v, %v", trailer, err)
	}
}
