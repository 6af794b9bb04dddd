package result

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const nsPerMS = 1e6

// Milliseconds converts a duration to the unit of the document.
func Milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / nsPerMS }

// Histogram is a distribution in milliseconds. HDR is the standard compressed V2 encoding
// (base64) of the same values in nanoseconds. Merge HDR; never average percentiles.
type Histogram struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
	HDR  string  `json:"hdr"`
	// Lost is the share of the values, 0 to 1, that are the lower bounds of lost calls.
	Lost float64 `json:"lost,omitempty"`
}

// FromHDR summarizes and encodes a histogram of nanoseconds. A nil or empty histogram gives the
// zero Histogram.
func FromHDR(h *hdr.PackedHistogram) Histogram {
	if h == nil || h.TotalCount() == 0 {
		return Histogram{}
	}
	// Encoding to memory cannot fail. If it did, Decode would report that the values are missing.
	encoded, err := h.Encode()
	if err != nil {
		encoded = nil
	}
	return histogramOf(h, string(encoded))
}

// FromEncoded summarizes a histogram of nanoseconds in the encoding of HDR.
func FromEncoded(encoded string) (Histogram, error) {
	h, err := Histogram{HDR: encoded}.Decode()
	if err != nil || h == nil || h.TotalCount() == 0 {
		return Histogram{}, err
	}
	return histogramOf(h, encoded), nil
}

// histogramOf returns the figures of a histogram that is not empty.
func histogramOf(h *hdr.PackedHistogram, encoded string) Histogram {
	if h.Populated() == 1 { // one value, which every figure rounds in its own way
		one := float64(h.Max()) / nsPerMS
		return Histogram{Min: one, Mean: one, P50: one, P90: one, P95: one, P99: one, P999: one, Max: one, HDR: encoded}
	}
	at := h.ValueAtPercentilesSlice([]float64{50, 90, 95, 99, 99.9})
	ms := func(ns int64) float64 { return float64(ns) / nsPerMS }
	return Histogram{
		Min: ms(h.Min()), Mean: h.Mean() / nsPerMS, P50: ms(at[0]), P90: ms(at[1]), P95: ms(at[2]), P99: ms(at[3]), P999: ms(at[4]), Max: ms(h.Max()),
		HDR: encoded,
	}
}

// Empty reports whether the histogram has no values.
func (h Histogram) Empty() bool { return h == Histogram{} }

// Decode returns the values in nanoseconds, nil for an empty Histogram.
func (h Histogram) Decode() (*hdr.PackedHistogram, error) {
	if h.Empty() {
		return nil, nil
	}
	if h.HDR == "" {
		return nil, errors.New("the histogram has a summary but no values (hdr is empty)")
	}
	decoded, err := hdr.DecodePacked([]byte(h.HDR))
	if err != nil {
		return nil, fmt.Errorf("histogram: hdr is not the compressed V2 encoding: %w", err)
	}
	return decoded, nil
}

// FigureNames are the names of the figures of a [Histogram], in the order of [Histogram.Figures].
var FigureNames = [...]string{"min", "mean", "p50", "p90", "p95", "p99", "p999", "max"}

// Figure is one figure of a distribution in milliseconds.
type Figure struct {
	Value float64
	Lower bool // the value is only a lower bound: the percentile is that of lost calls
}

// Figures returns the minimum, the mean, the percentiles and the maximum.
func (h Histogram) Figures() (all [len(FigureNames)]Figure) {
	values := [...]float64{h.Min, h.Mean, h.P50, h.P90, h.P95, h.P99, h.P999, h.Max}
	for i, percentile := range [...]float64{1e-6, 100, 50, 90, 95, 99, 99.9, 100} {
		all[i] = Figure{values[i], h.AtLeast(percentile)}
		if all[i].Lower && values[i] > 0 && FigureNames[i] != "mean" { // a histogram has three digits and shows the upper end of a bucket
			digit := math.Pow(10, math.Floor(math.Log10(values[i]))-2)
			all[i].Value = math.Floor(values[i]/digit) * digit
		}
	}
	mean, most := &all[slices.Index(FigureNames[:], "mean")], all[len(all)-1]
	if most.Lower && most.Value > 0 {
		mean.Value = min(mean.Value, most.Value) // where nearly all calls were lost
	}
	return all
}

// Bounded returns the histogram with each figure of lost calls at their deadline, not at the upper end of its bucket.
func (h Histogram) Bounded() Histogram {
	all := h.Figures()
	for i, to := range [...]*float64{&h.Min, &h.Mean, &h.P50, &h.P90, &h.P95, &h.P99, &h.P999, &h.Max} {
		*to = all[i].Value
	}
	return h
}

// Figure returns the figure of a name in [FigureNames].
func (h Histogram) Figure(name string) Figure { return h.Figures()[slices.Index(FigureNames[:], name)] }

// AtLeast reports whether a percentile, 0 to 100, is that of lost calls. Its value is then only a lower bound.
func (h Histogram) AtLeast(percentile float64) bool { return percentile > 100*(1-h.Lost)+1e-9 }

// CountLost adds lost calls to the latencies of the successful ones. Each counts as its deadline,
// or as the slowest success if that took longer, so that a lost call is never fast.
func (h Histogram) CountLost(calls uint64, deadline time.Duration) (Histogram, error) {
	if calls == 0 {
		return h, nil
	}
	sum := hdr.NewPacked(1, int64(time.Hour), 3)
	answered, err := h.Decode()
	if err != nil {
		return Histogram{}, err
	}
	slowest := int64(0)
	if answered != nil {
		sum, slowest = answered, answered.Max()
	}
	value := min(max(deadline.Nanoseconds(), slowest, sum.LowestTrackableValue()), sum.HighestTrackableValue())
	if err := sum.RecordValues(value, int64(calls)); err != nil {
		return Histogram{}, fmt.Errorf("count %d lost calls as %v: %w", calls, time.Duration(value), err)
	}
	counted := FromHDR(sum)
	counted.Lost = float64(calls) / float64(sum.TotalCount())
	return counted, nil
}

// LostOf returns how many values the lost calls would have next to those of the successful calls, by their share.
func (h Histogram) LostOf(successful int64) uint64 {
	if h.Lost >= 1 {
		return 0
	}
	return uint64(math.Round(float64(successful) * h.Lost / (1 - h.Lost)))
}

// Merge merges the values, so percentiles are those of all values together. The result has the
// widest range and the highest precision of its parts.
func Merge(parts []Histogram) (Histogram, error) {
	if filled := slices.DeleteFunc(slices.Clone(parts), Histogram.Empty); len(filled) == 1 {
		return filled[0], nil
	}
	var decoded []*hdr.PackedHistogram
	lost := 0.0 // values
	lowest, highest, digits := int64(1), int64(2), int64(1)
	for i, part := range parts {
		h, err := part.Decode()
		if err != nil {
			return Histogram{}, fmt.Errorf("merge part %d of %d: %w", i+1, len(parts), err)
		}
		if h == nil {
			continue
		}
		if len(decoded) == 0 {
			lowest = h.LowestTrackableValue()
		}
		lowest = min(lowest, h.LowestTrackableValue())
		highest = max(highest, h.HighestTrackableValue())
		digits = max(digits, h.SignificantFigures())
		decoded = append(decoded, h)
		lost += part.Lost * float64(h.TotalCount())
	}
	sum := hdr.NewPacked(lowest, highest, int(digits))
	for _, h := range decoded {
		if dropped := sum.Merge(h); dropped > 0 {
			return Histogram{}, fmt.Errorf("merge: %d values do not fit between %d and %d ns", dropped, lowest, highest)
		}
	}
	merged := FromHDR(sum)
	if lost > 0 {
		merged.Lost = lost / float64(sum.TotalCount())
	}
	return merged, nil
}
