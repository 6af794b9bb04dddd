package measure_test

import (
	"sync"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

func TestSnapshotsAddUpToTheLoad(t *testing.T) {
	shards := measure.NewShards(3, 0)
	var mu sync.Mutex
	var calls, failed, answered uint64
	var texts []string
	end := measure.StartSignal{OnSnapshot: func(snapshot measure.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		calls, failed, answered = calls+snapshot.Calls, failed+snapshot.Errors["UNAVAILABLE"], answered+snapshot.Backends["a"]
		texts = append(texts, snapshot.Latency)
		if snapshot.Span <= 0 || snapshot.Elapsed < snapshot.Span {
			t.Errorf("a snapshot spans %v at %v, want a span above 0 and within the elapsed time", snapshot.Span, snapshot.Elapsed)
		}
	}}.Watch(time.Now(), shards.AddTo)
	for seen := uint64(0); seen < 2; seen++ {
		for n := range uint64(300) {
			call := good("a", 0, 0, time.Duration(n)*ms)
			if n%3 == 0 {
				call.Code, call.Message = "UNAVAILABLE", "gone"
			}
			shards.Record(n, call)
		}
		testkit.Await(t, "snapshots count the calls so far", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return calls == (seen+1)*300
		})
	}
	end()
	histogram, err := measure.MergeHistograms(texts)
	if err != nil {
		t.Fatal(err)
	}
	if failed != 200 || answered != 400 || histogram.TotalCount() != 400 {
		t.Errorf("%d failed, %d answered, %d in the histograms; want 200, 400, 400", failed, answered, histogram.TotalCount())
	}
	if merged, err := histogram.Encode(); err != nil || string(merged) != measured(t, shards.Merged()).Latency {
		t.Error("the merged histograms of the snapshots differ from the histogram of the load")
	}
}

func TestNoSnapshotIsTakenWithoutAReceiver(t *testing.T) {
	measure.StartSignal{}.Watch(time.Now(), func(*measure.Tally) { t.Error("a snapshot was taken, want none") })()
}

// A time from another process has no reading of this process's monotonic clock, which paces loads.
func TestAStartSignalUsesTheMonotonicClock(t *testing.T) {
	at := time.Now().Add(time.Hour).Round(0)
	if start := (measure.StartSignal{At: at}).Start(); start.Sub(at).Abs() > time.Second || start == start.Round(0) {
		t.Errorf("a load that starts at %v starts at %v, want the same time with a monotonic reading", at, start)
	}
	before := time.Now()
	if start := (measure.StartSignal{At: before.Add(-time.Hour)}).Start(); start.Before(before) {
		t.Errorf("an overdue load starts %v ago, want now", time.Since(start))
	}
}
