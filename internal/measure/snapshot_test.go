package measure_test

import (
	"sync"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

// Snapshots are of what came since the one before: together they are the whole.
func TestSnapshotsAddUpToTheLoad(t *testing.T) {
	shards := measure.NewShards(3, 0)
	var mu sync.Mutex
	var calls, failed, answered uint64
	var texts []string
	end := measure.StartSignal{OnSnapshot: func(s measure.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		calls, failed, answered = calls+s.Calls, failed+s.Errors["UNAVAILABLE"], answered+s.Backends["a"]
		texts = append(texts, s.Latency)
		if s.Span <= 0 || s.Elapsed < s.Span {
			t.Errorf("a snapshot of %v after %v", s.Span, s.Elapsed)
		}
	}}.Watch(time.Now(), shards.AddTo)
	for seen := uint64(0); seen < 2; seen++ {
		for n := range uint64(300) {
			c := good("a", 0, 0, time.Duration(n)*ms)
			if n%3 == 0 {
				c.Code, c.Message = "UNAVAILABLE", "gone"
			}
			shards.Record(n, c)
		}
		testkit.Await(t, "a snapshot has these calls", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return calls == (seen+1)*300
		})
	}
	end()
	h, err := measure.MergeHistograms(texts)
	if err != nil {
		t.Fatal(err)
	}
	if failed != 200 || answered != 400 || h.TotalCount() != 400 {
		t.Errorf("%d failed, %d answered, %d in the histograms", failed, answered, h.TotalCount())
	}
	if whole := decode(t, measured(t, shards.Merged()).Latency); !h.Equals(whole) {
		t.Error("the snapshots' histograms do not add up to that of the load")
	}
}

func TestALoadThatNobodyWatchesIsNotCounted(t *testing.T) {
	measure.StartSignal{}.Watch(time.Now(), func(*measure.Tally) { t.Error("counted") })()
}

// TestACueFromElsewhereIsOneByThisClock: times that crossed a process have no monotonic
// clock, by which loads are paced.
func TestACueFromElsewhereIsOneByThisClock(t *testing.T) {
	at := time.Now().Add(time.Hour).Round(0)
	if start := (measure.StartSignal{At: at}).Start(); start.Sub(at).Abs() > time.Second || start == start.Round(0) {
		t.Errorf("%v became %v", at, start)
	}
	before := time.Now()
	if start := (measure.StartSignal{At: before.Add(-time.Hour)}).Start(); start.Before(before) {
		t.Errorf("a load that is overdue begins %v ago, not now", time.Since(start))
	}
}
