package measure

import (
	"slices"
	"testing"
	"time"
)

func TestBucketsAreNarrowAndInOrder(t *testing.T) {
	for latency := time.Duration(1); latency < MaxDuration; latency += latency/50 + 1 {
		got := middle(bucket(latency))
		if off := float64(got-latency) / float64(latency); off > 1.0/32 || off < -1.0/32 {
			t.Fatalf("the bucket of %v has its middle at %v, %+.1f %% away", latency, got, 100*off)
		}
		if bucket(latency) > bucket(latency+1) {
			t.Fatalf("%v has a later bucket than %v", latency, latency+1)
		}
	}
	if got := bucket(-time.Second); got != 0 {
		t.Errorf("a negative latency has bucket %d, want 0", got)
	}
}

func TestLatencyIsRecordedForEachSecond(t *testing.T) {
	one, other := NewRecorder(0), NewRecorder(0)
	for i := range 200 {
		due := time.Duration(i) * 10 * time.Millisecond
		took := time.Millisecond
		if due >= time.Second {
			took = 20 * time.Millisecond // the second second is slow
		}
		recorder := []*Recorder{one, other}[i%2]
		recorder.Record(Call{Due: due, Sent: due, Done: due + took, Code: OK, Backend: "a"})
	}
	one.Merge(other)
	if len(one.series) != 2 {
		t.Fatalf("%d seconds, want 2", len(one.series))
	}
	for i, want := range []time.Duration{time.Millisecond, 20 * time.Millisecond} {
		got, ok := one.series[i].Percentile(50, 0)
		if !ok || got < want*31/32 || got > want*33/32 {
			t.Errorf("second %d: p50 %v, %v; want %v", i, got, ok, want)
		}
	}
}

func TestALostCallOfASecondIsNeverFast(t *testing.T) {
	var series LatencySeries
	for range 90 {
		series.add(0, time.Millisecond)
	}
	if _, ok := series[0].Percentile(99, 10); ok {
		t.Error("p99 with 10 % of the calls lost is known, want unknown")
	}
	if _, ok := series[0].Percentile(50, 10); !ok {
		t.Error("p50 with 10 % of the calls lost is unknown")
	}
	if _, ok := (LatencyCounts{}).Percentile(50, 0); ok {
		t.Error("p50 of no calls is known")
	}
}

func TestALongSeriesIsMergedToFewerIntervals(t *testing.T) {
	var series LatencySeries
	for second := range 1000 {
		series.add(time.Duration(second)*time.Second, time.Duration(second+1)*time.Millisecond)
	}
	merged, interval := series.Intervals(600)
	if len(merged) != 500 || interval != 2*time.Second {
		t.Fatalf("%d intervals of %v, want 500 of 2s", len(merged), interval)
	}
	total := uint64(0)
	for _, counts := range merged {
		for _, n := range counts.Counts {
			total += n
		}
	}
	if total != 1000 {
		t.Errorf("%d calls after merging, want 1000", total)
	}
	if same, interval := series[:600].Intervals(600); len(same) != 600 || interval != time.Second {
		t.Errorf("600 seconds became %d intervals of %v", len(same), interval)
	}
}

func TestSeriesOfCallersAreMergedFromTheEarliestStart(t *testing.T) {
	record := func(start time.Time) Measurement {
		recorder := NewRecorder(0)
		recorder.Record(Call{Done: time.Millisecond, Code: OK, Backend: "a"})
		m, err := recorder.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		m.Started = start
		return m
	}
	start := time.Unix(1000, 0)
	merged, err := Merge([]Measurement{record(start), record(start.Add(2 * time.Second))})
	if err != nil {
		t.Fatal(err)
	}
	var calls []int
	for _, counts := range merged.Series {
		calls = append(calls, len(counts.Counts))
	}
	if want := []int{1, 0, 1}; !slices.Equal(calls, want) {
		t.Errorf("intervals with calls %v, want %v", calls, want)
	}
}
