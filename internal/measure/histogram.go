package measure

import (
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// MaxDuration is the largest duration that a histogram holds. Longer durations count as this one.
const MaxDuration = time.Hour

// Histogram returns an empty histogram of nanoseconds with 3 significant digits.
func Histogram() *hdr.Histogram { return hdr.New(1, int64(MaxDuration), 3) }

func packed() *hdr.PackedHistogram { return hdr.NewPacked(1, int64(MaxDuration), 3) }

// MergeHistograms merges histograms that are encoded as in a [Measurement].
func MergeHistograms(texts []string) (*hdr.PackedHistogram, error) {
	sum := packed()
	for _, text := range texts {
		histogram, err := hdr.DecodePacked([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("decode a caller's histogram: %w", err)
		}
		if lost := sum.Merge(histogram); lost > 0 {
			return nil, fmt.Errorf("merge a caller's histogram: %d values are over %v", lost, MaxDuration)
		}
	}
	return sum, nil
}

func encode(h *hdr.PackedHistogram) (string, error) {
	text, err := h.Encode()
	return string(text), err
}

// Pack returns the values of histograms, of which any may be nil, as a histogram without empty buckets. That
// is much faster to merge and to encode.
func Pack(all ...*hdr.Histogram) *hdr.PackedHistogram {
	sum := packed()
	for _, h := range all {
		if h != nil && h.TotalCount() > 0 {
			sum.MergeFrom(h)
		}
	}
	return sum
}

// add records a duration of 0 to [MaxDuration]. A negative duration, of a clock that stepped back,
// counts as 0.
func add(h *hdr.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 0), MaxDuration))) // cannot fail within the bounds
}
