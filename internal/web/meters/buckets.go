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

// zeroThreshold is 1 µs: smaller values count as zero.
const zeroThreshold = 1e-6

// buckets are those of a native histogram (Prometheus: "Native Histograms", 2023): bucket i
// holds what is over 2^((i-1)/8) and up to 2^(i/8) seconds. Next to them are the classic ones
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

// record adds latencies, which are in nanoseconds.
func (b *buckets) record(h *hdr.PackedHistogram) {
	for value, calls := range h.ForEachBucket { // its buckets are 0.1 % wide
		seconds := float64(value) / 1e9
		b.count += uint64(calls)
		b.sum += seconds * float64(calls)
		if seconds <= zeroThreshold {
			b.zero += uint64(calls)
		} else {
			b.native[int(math.Ceil(math.Log2(seconds)*(1<<schema)))] += calls
		}
		for i, bound := range workload.Buckets {
			if seconds <= bound {
				b.classic[i] += uint64(calls)
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
	return histogramMetric{d, labels, b, spans, deltas}
}

// histogramMetric is a metric with native and classic buckets. The client library has no such
// metric for given counts.
type histogramMetric struct {
	desc   *prometheus.Desc
	labels []string
	buckets
	spans  []*dto.BucketSpan
	deltas []int64
}

// Desc describes the metric.
func (h histogramMetric) Desc() *prometheus.Desc { return h.desc }

// Write fills the protobuf message.
func (h histogramMetric) Write(to *dto.Metric) error {
	if len(h.labels) != len(labelNames) {
		return fmt.Errorf("%d labels for %d names", len(h.labels), len(labelNames))
	}
	for i, name := range labelNames {
		to.Label = append(to.Label, &dto.LabelPair{Name: &name, Value: &h.labels[i]})
	}
	to.Histogram = &dto.Histogram{
		SampleCount: &h.count, SampleSum: &h.sum,
		Schema: new(int32(schema)), ZeroThreshold: new(zeroThreshold), ZeroCount: &h.zero,
		PositiveSpan: h.spans, PositiveDelta: h.deltas,
	}
	for i, bound := range workload.Buckets {
		to.Histogram.Bucket = append(to.Histogram.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &h.classic[i]})
	}
	return nil
}

// labelNames of the labels, sorted.
var labelNames = []string{"arm", "cell"}

// spansOf encodes counts by bucket as spans of buckets and differences between neighbours. An
// empty span marks an empty histogram as native.
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
