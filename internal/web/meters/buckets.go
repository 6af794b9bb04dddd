package meters

import (
	"fmt"
	"maps"
	"math"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"rpclab/internal/workload"
)

// schema of the native histogram: 2^3 buckets to a power of two, each 9 % wide.
const schema = 3

// finest is 1 µs: what is below counts as zero.
const finest = 1e-6

// buckets are those of a native histogram (Prometheus: "Native Histograms", 2023): bucket i
// holds what is over 2^((i-1)/8) and up to 2^(i/8) seconds. Beside them the classic ones
// are counted, for a Prometheus that takes no others.
type buckets struct {
	count, zero uint64
	sum         float64 // seconds
	native      map[int]int64
	classic     []uint64 // within each of workload.Buckets
}

func newBuckets() buckets {
	return buckets{native: map[int]int64{}, classic: make([]uint64, len(workload.Buckets))}
}

// take adds latencies, which are in nanoseconds.
func (b *buckets) take(h *hdr.Histogram) {
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		// Bars are as narrow as the histogram is exact: 0.1 %.
		seconds := float64(bar.From+bar.To) / 2 / 1e9
		b.count += uint64(bar.Count)
		b.sum += seconds * float64(bar.Count)
		if seconds <= finest {
			b.zero += uint64(bar.Count)
		} else {
			b.native[int(math.Ceil(math.Log2(seconds)*(1<<schema)))] += bar.Count
		}
		for i, bound := range workload.Buckets {
			if seconds <= bound {
				b.classic[i] += uint64(bar.Count)
			}
		}
	}
}

func (b *buckets) add(other buckets) {
	b.count, b.zero, b.sum = b.count+other.count, b.zero+other.zero, b.sum+other.sum
	for i, n := range other.native {
		b.native[i] += n
	}
	for i, n := range other.classic {
		b.classic[i] += n
	}
}

// metric is the histogram in both forms.
func (b buckets) metric(d *prometheus.Desc, labels ...string) prometheus.Metric {
	spans, deltas := spansOf(b.native)
	return both{d, labels, b, spans, deltas}
}

// both is a metric that has native and classic buckets, of which the library has none that
// takes counts.
type both struct {
	desc   *prometheus.Desc
	labels []string
	buckets
	spans  []*dto.BucketSpan
	deltas []int64
}

// Desc is what the metric is.
func (h both) Desc() *prometheus.Desc { return h.desc }

// Write fills the form that crosses the wire.
func (h both) Write(to *dto.Metric) error {
	if len(h.labels) != len(names) {
		return fmt.Errorf("%d labels for %d names", len(h.labels), len(names))
	}
	for i, name := range names {
		to.Label = append(to.Label, &dto.LabelPair{Name: &name, Value: &h.labels[i]})
	}
	to.Histogram = &dto.Histogram{
		SampleCount: &h.count, SampleSum: &h.sum,
		Schema: new(int32(schema)), ZeroThreshold: new(finest), ZeroCount: &h.zero,
		PositiveSpan: h.spans, PositiveDelta: h.deltas,
	}
	for i, bound := range workload.Buckets {
		to.Histogram.Bucket = append(to.Histogram.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &h.classic[i]})
	}
	return nil
}

// names of the labels, sorted.
var names = []string{"arm", "cell"}

// spansOf writes counts by bucket as runs of buckets and what each differs by from the one
// before. Without any a run of none says that the histogram is native.
func spansOf(counts map[int]int64) (spans []*dto.BucketSpan, deltas []int64) {
	next, last := 0, int64(0)
	for _, i := range slices.Sorted(maps.Keys(counts)) {
		if len(spans) == 0 || i != next {
			spans = append(spans, &dto.BucketSpan{Offset: new(int32(i - next)), Length: new(uint32(0))})
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, counts[i]-last)
		next, last = i+1, counts[i]
	}
	if spans == nil {
		spans = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
	return spans, deltas
}
