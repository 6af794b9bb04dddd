package result

import (
	"maps"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func values() *rapid.Generator[[]int64] { return rapid.SliceOf(rapid.Int64Range(1, 3_600_000_000_000)) }

func record(t *rapid.T, digits int, values []int64) *hdr.PackedHistogram {
	h := hdr.NewPacked(1, 3_600_000_000_000, digits)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestDecodeReturnsTheEncodedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record(t, 3, values().Draw(t, "values"))
		got, err := FromHDR(want).Decode()
		if err != nil {
			t.Fatal(err)
		}
		if want.TotalCount() == 0 {
			if got != nil {
				t.Fatalf("an empty histogram came back with %d values", got.TotalCount())
			}
			return
		}
		if diff := cmp.Diff(maps.Collect(want.ForEachBucket), maps.Collect(got.ForEachBucket)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAMergedHistogramEqualsOneOfAllValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(values(), 0, 4).Draw(t, "parts")
		var histograms []Histogram
		var all []int64
		for _, part := range parts {
			histograms = append(histograms, FromHDR(record(t, 3, part)))
			all = append(all, part...)
		}
		got, err := Merge(histograms)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(FromHDR(record(t, 3, all)), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMergeOfDifferentRangesAndPrecisions(t *testing.T) {
	short, long := hdr.NewPacked(1, 1_000_000, 2), hdr.NewPacked(1000, 1_000_000_000, 3)
	for h, v := range map[*hdr.PackedHistogram]int64{short: 500_000, long: 900_000_000} {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := Merge([]Histogram{FromHDR(short), {}, FromHDR(long)})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Min < 0.49 || sum.Min > 0.51 || sum.Max < 899 || sum.Max > 901 {
		t.Errorf("min %v, max %v ms, want about 0.5 and 900", sum.Min, sum.Max)
	}
}

func TestSummaryIsInMilliseconds(t *testing.T) {
	h := histogram(t, 1, 2, 3, 4, 100)
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"min", h.Min, 1}, {"mean", h.Mean, 22}, {"p50", h.P50, 3}, {"p99", h.P99, 100}, {"max", h.Max, 100}} {
		if c.got < c.want*0.999 || c.got > c.want*1.001 {
			t.Errorf("%s is %v, want %v to three digits", c.name, c.got, c.want)
		}
	}
}

func TestDecodeAndMergeRejectDamagedHistograms(t *testing.T) {
	for name, h := range map[string]Histogram{
		"no values":  {P50: 1},
		"not base64": {P50: 1, HDR: "%"},
		"cut off":    {P50: 1, HDR: histogram(t, 1, 2, 3).HDR[:20]},
	} {
		if _, err := h.Decode(); err == nil {
			t.Errorf("%s: Decode returned no error", name)
		}
		if _, err := Merge([]Histogram{histogram(t, 1), h}); err == nil || !strings.Contains(err.Error(), "part 2 of 2") {
			t.Errorf("%s: Merge returned error %v, want one that names part 2 of 2", name, err)
		}
	}
}

func TestALostCallIsNeverFast(t *testing.T) {
	h := hdr.NewPacked(1, 3_600_000_000_000, 3)
	for i := range 99 {
		if err := h.RecordValue(int64(i+1) * 1e6); err != nil {
			t.Fatal(err)
		}
	}
	counted, err := FromHDR(h).CountLost(1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if counted.AtLeast(99) || !counted.AtLeast(99.9) || counted.P999 < 60_000 || counted.P99 > 100 || counted.Lost != 0.01 {
		t.Errorf("1 of 100 lost: p99 %v ms, p99.9 %v ms, lost %v", counted.P99, counted.P999, counted.Lost)
	}
	all, err := Merge([]Histogram{counted, FromHDR(h)})
	if err != nil || all.Lost < 0.005 || all.Lost > 0.00503 || all.AtLeast(99) || !all.AtLeast(99.9) {
		t.Errorf("merged with a trial that lost none: lost %v of all, %v", all.Lost, err)
	}
	none, err := Histogram{}.CountLost(3, time.Second)
	if err != nil || none.P50 < 1000 || !none.AtLeast(50) || none.Lost != 1 {
		t.Errorf("all lost: %+v, %v", none, err)
	}
}

func TestALostCallIsSlowerThanTheSlowestSuccess(t *testing.T) {
	h := hdr.NewPacked(1, 3_600_000_000_000, 3)
	if err := h.RecordValue(7e9); err != nil {
		t.Fatal(err)
	}
	counted, err := FromHDR(h).CountLost(99, 5*time.Second)
	if err != nil || counted.P50 < 7000 || !counted.AtLeast(50) || counted.AtLeast(1) {
		t.Errorf("p50 %v ms after a success of 7 s, %v", counted.P50, err)
	}
}

func TestASingleValueHasOneFigure(t *testing.T) {
	h := hdr.NewPacked(1, int64(time.Hour), 3)
	if err := h.RecordValue(1_234_567); err != nil {
		t.Fatal(err)
	}
	for i, figure := range FromHDR(h).Figures() {
		if figure.Value != FromHDR(h).Max || figure.Value < 1.234567 || figure.Value > 1.236 {
			t.Errorf("%s is %g ms, want the maximum, %g", FigureNames[i], figure.Value, FromHDR(h).Max)
		}
	}
}

// A bucket ends up to 0.1 % after the deadline, which is all that is known of a lost call.
func TestABoundIsNotOverTheDeadline(t *testing.T) {
	h, err := histogram(t, 5, 6, 7, 8, 9).CountLost(5, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := h
	want.P90, want.P95, want.P99, want.P999, want.Max = 20_000, 20_000, 20_000, 20_000, 20_000
	if got := h.Bounded(); h.P99 <= 20_000 || got != want {
		t.Errorf("p99 is %g ms, and with bounds the figures are %+v, want 20,000 from p90 on", h.P99, got)
	}
}
