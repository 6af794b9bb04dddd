package report

import (
	"fmt"
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/result"
)

// hgrmTicks is the number of lines for each halving of the distance to 100 %, as HdrHistogram's own tools write.
const hgrmTicks = 5

// Distribution is the latency of an arm, by a name that is unique in its run.
type Distribution struct {
	Name    string
	latency result.Histogram
}

// Distributions are the latencies of the arms of a run that measured any.
func Distributions(d result.Document) (all []Distribution) {
	for _, arm := range d.Arms {
		name := benchmarkWord(arm.Name)
		if cell := arm.Cell.String(); cell != "" {
			name += "-" + benchmarkWord(cell)
		}
		if !arm.Latency.Empty() {
			all = append(all, Distribution{name, arm.Latency})
		}
	}
	return all
}

// Write writes the percentiles in milliseconds, in the format .hgrm of HdrHistogram (hdrhistogram.github.io/HdrHistogram/plotFiles.html).
func (d Distribution) Write(w io.Writer) error {
	values, err := hdr.Decode([]byte(d.latency.HDR))
	if err != nil {
		return fmt.Errorf("the latency of %s: %w", d.Name, err)
	}
	_, err = values.PercentilesPrint(w, hgrmTicks, 1e6)
	return err
}
